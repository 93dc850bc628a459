import { sizeText, type VideoSize } from '../client/video-size';
import { redact } from '../contract/redact';
import type { VideoRequest } from '../contract/request';
import { openVideo, type VideoSource } from '../service/open-video';
import { ServiceFault } from '../service/service-fault';
import { messageOf } from './model-call';
import type { AiSdkCallOptions, AiSdkFile, AiSdkProviderOptions } from './video-model-types';

type Resolution = NonNullable<VideoRequest['resolution']>;
type AspectRatio = NonNullable<VideoRequest['aspect_ratio']>;

/** The sizes that Alibaba's models know. They know none for 21:9. */
const WAN_SIZES: Record<Resolution, Partial<Record<AspectRatio, VideoSize>>> = {
  '480p': { '16:9': '832x480', '9:16': '480x832', '1:1': '624x624' },
  '720p': { '4:3': '1088x832', '3:4': '832x1088', '1:1': '960x960' },
  '1080p': { '4:3': '1632x1248', '3:4': '1248x1632', '1:1': '1440x1440' },
};

/** Where a provider's models differ from what the AI SDK says. */
interface ProviderRule {
  /** How its provider name begins: `fal.video`. */
  provider: string;
  /** The name of its options. */
  optionsKey: string;
  /** Its models take `720p` as an option of the provider. Fal's leave `1280x720` out, and others know only wide ones. */
  takesResolutionName?: true;
  /** Its models leave links to images out. */
  needsImageBytes?: true;
  sizes?: typeof WAN_SIZES;
}

/** The first that fits counts. */
const PROVIDERS: readonly ProviderRule[] = [
  { provider: 'fal', optionsKey: 'fal', takesResolutionName: true },
  { provider: 'xai', optionsKey: 'xai', takesResolutionName: true },
  { provider: 'google.vertex', optionsKey: 'googleVertex', takesResolutionName: true, needsImageBytes: true },
  { provider: 'google', optionsKey: 'google', takesResolutionName: true, needsImageBytes: true },
  { provider: 'alibaba', optionsKey: 'alibaba', sizes: WAN_SIZES },
];

function ruleOf(provider: string): ProviderRule {
  const [optionsKey = provider] = provider.split('.');
  return PROVIDERS.find((rule) => `${provider}.`.startsWith(`${rule.provider}.`)) ?? { provider, optionsKey };
}

export interface CallOptionRules {
  /** Constants for every request. */
  providerOptions: AiSdkProviderOptions;
  /** The names of further fields, which become options of the provider. */
  requestFields: readonly string[];
  /** Fetches images for models that take their bytes. */
  images: VideoSource;
  signal: AbortSignal;
}

/** What a model is asked for. */
export async function callOptionsOf(
  request: VideoRequest,
  provider: string,
  { providerOptions, requestFields, images, signal }: CallOptionRules,
): Promise<AiSdkCallOptions> {
  const { prompt, resolution, aspect_ratio = '16:9', duration, seed, image_url } = request;
  const { optionsKey, takesResolutionName, needsImageBytes, sizes } = ruleOf(provider);
  const image = image_url === undefined ? undefined : imageOf(image_url);
  const own = {
    ...(takesResolutionName && resolution && { resolution }),
    ...Object.fromEntries(Object.entries(request).filter(([name]) => requestFields.includes(name))),
  };
  return {
    prompt,
    n: 1,
    aspectRatio: request.aspect_ratio,
    resolution:
      takesResolutionName || !resolution
        ? undefined
        : (sizes?.[resolution][aspect_ratio] ?? sizeText({ resolution, aspect_ratio })),
    duration,
    fps: undefined,
    seed,
    image: needsImageBytes && image?.type === 'url' ? await fetchImage(image.url, images, signal) : image,
    frameImages: undefined,
    inputReferences: undefined,
    generateAudio: undefined,
    providerOptions:
      Object.keys(own).length === 0
        ? providerOptions
        : { ...providerOptions, [optionsKey]: { ...providerOptions[optionsKey], ...own } },
  };
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/is;

function imageOf(url: string): AiSdkFile {
  const [, mediaType = '', data = ''] = DATA_URL.exec(url) ?? [];
  if (mediaType !== '') return { type: 'file', mediaType, data };
  if (!/^data:/i.test(url)) return { type: 'url', url };
  throw new ServiceFault('refused', { message: 'image_url is a data URL that is not base64' });
}

/** Larger than any image that a service takes. */
const LARGEST_IMAGE_BYTES = 32 * 1024 * 1024;

/**
 * The image behind a link, for models that take its bytes. It is fetched by the rules for videos: links come from callers, and
 * must not make a worker send requests into its own network.
 */
async function fetchImage(link: string, source: VideoSource, signal: AbortSignal): Promise<AiSdkFile> {
  try {
    const { stream, contentType, bytes } = await openVideo(link, source, { signal });
    const chunks: Buffer[] = [];
    let read = 0;
    for await (const chunk of stream) {
      read += chunk.length;
      if (read > LARGEST_IMAGE_BYTES)
        throw new ServiceFault('not-allowed', { message: `it has more than ${LARGEST_IMAGE_BYTES} bytes` });
      chunks.push(chunk);
    }
    if (bytes !== undefined && bytes !== read) throw new Error(`${read} of ${bytes} bytes arrived`);
    const [mediaType = ''] = (contentType ?? '').split(';');
    return { type: 'file', mediaType: mediaType.trim(), data: new Uint8Array(Buffer.concat(chunks)) };
  } catch (error) {
    const why = error instanceof ServiceFault ? (error.facts.message ?? error.message) : messageOf(error);
    // Nothing was sent to the service. What is not allowed stays so; anything else may pass.
    const isFinal = error instanceof ServiceFault && error.kind === 'not-allowed';
    throw new ServiceFault(isFinal ? 'refused' : 'not-sent', {
      message: `the image of the request could not be fetched: ${redact(why, source.secrets())}`,
    });
  }
}
