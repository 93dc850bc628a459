import { sizeText, type VideoSize } from '../client/video-size';
import type { VideoRequest } from '../contract/request';
import { isObject } from '../service/answer-paths';
import { ServiceFault } from '../service/service-fault';
import { messageOf } from './sdk-errors';
import { unescapeBytes } from './unescape-bytes';
import type { AiSdkCallOptions, AiSdkFile, AiSdkProviderOptions, JsonValue } from './video-model-types';

type Resolution = NonNullable<VideoRequest['resolution']>;
type AspectRatio = NonNullable<VideoRequest['aspect_ratio']>;

/** The sizes that Alibaba's models know. Of 21:9 they know none. */
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
  { provider: 'bytedance', optionsKey: 'bytedance', takesResolutionName: true },
  { provider: 'google.vertex', optionsKey: 'googleVertex', takesResolutionName: true, needsImageBytes: true },
  { provider: 'google', optionsKey: 'google', takesResolutionName: true, needsImageBytes: true },
  { provider: 'alibaba', optionsKey: 'alibaba', sizes: WAN_SIZES },
];

function ruleOf(provider: string): ProviderRule {
  const known = PROVIDERS.find(
    (rule) => provider === rule.provider || provider.startsWith(`${rule.provider}.`),
  );
  const [optionsKey = provider] = provider.split('.');
  return known ?? { provider, optionsKey };
}

/** Whether a provider's models need the bytes of an image. */
export const needsImageBytes = (provider: string): boolean => ruleOf(provider).needsImageBytes === true;

export interface CallOptionRules {
  /** Constants for every request. */
  providerOptions: AiSdkProviderOptions;
  /** The names of further fields, which become options of the provider. */
  requestFields: readonly string[];
  /** The size of a request's video, in place of the table. */
  size?: (request: VideoRequest) => VideoSize | undefined;
}

/** What a model is asked for. */
export function callOptionsOf(
  request: VideoRequest,
  provider: string,
  { providerOptions, requestFields, size }: CallOptionRules,
): AiSdkCallOptions {
  const { prompt, resolution, aspect_ratio: aspectRatio, duration, seed, image_url: image } = request;
  const { optionsKey, takesResolutionName, sizes } = ruleOf(provider);
  const own = sizeBy(size, request);
  const takesName = takesResolutionName && own === undefined && resolution !== undefined;
  const fields = Object.entries(request).filter(([name]) => requestFields.includes(name));
  return {
    prompt,
    n: 1,
    aspectRatio,
    resolution: takesName ? undefined : (own ?? sizeFor(request, sizes)),
    duration,
    fps: undefined,
    seed,
    image: image === undefined ? undefined : imageOf(image),
    frameImages: undefined,
    inputReferences: undefined,
    generateAudio: undefined,
    providerOptions: withOptions(providerOptions, optionsKey, {
      ...(takesName && { resolution }),
      ...Object.fromEntries(fields.map(([name, value]) => [name, asJson(value)])),
    }),
  };
}

function sizeBy(size: CallOptionRules['size'], request: VideoRequest): VideoSize | undefined {
  try {
    return size?.(request);
  } catch (error) {
    throw new Error(`the option size of aiSdkService failed: ${messageOf(error)}`);
  }
}

/** Adds options of one provider to those of all. */
export function withOptions(
  all: AiSdkProviderOptions,
  key: string,
  options: Record<string, JsonValue | undefined>,
): AiSdkProviderOptions {
  return Object.keys(options).length === 0 ? all : { ...all, [key]: { ...all[key], ...options } };
}

/** The name of a provider's options. */
export const optionsKeyOf = (provider: string): string => ruleOf(provider).optionsKey;

/** A request without an aspect ratio gets 16:9. */
function sizeFor(
  { resolution, aspect_ratio = '16:9' }: VideoRequest,
  sizes: ProviderRule['sizes'],
): VideoSize | undefined {
  return resolution && (sizes?.[resolution][aspect_ratio] ?? sizeText({ resolution, aspect_ratio }));
}

const DATA_URL = /^data:([^;,]*)(;[^,]*)?,(.*)$/is;

function imageOf(url: string): AiSdkFile {
  const [, mediaType = '', parameters = '', data = ''] = DATA_URL.exec(url) ?? [];
  if (mediaType === '') return { type: 'url', url };
  const isBase64 = /;base64$/i.test(parameters);
  return { type: 'file', mediaType, data: isBase64 ? data : base64Of(data) };
}

const STRAY_PERCENT = /%(?![0-9a-f]{2})/i;

/** A request with a damaged image stays what it is, so no attempt could send it. */
function base64Of(escaped: string): string {
  if (STRAY_PERCENT.test(escaped)) {
    throw new ServiceFault('refused', {
      message: 'image_url is a data URL with a % that two hexadecimal digits do not follow',
    });
  }
  return unescapeBytes(escaped).toString('base64');
}

/** What came from JSON is JSON; anything else is left out. */
function asJson(value: unknown): JsonValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (Array.isArray(value)) return value.map((entry) => asJson(entry) ?? null);
  if (!isObject(value)) return undefined;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, asJson(entry)]));
}
