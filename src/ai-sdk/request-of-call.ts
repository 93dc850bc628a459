import { SIZES, shapeOf } from '../client/video-size';
import { describeValue } from '../contract/redact-links';
import { ASPECT_RATIOS } from '../contract/request';
import { VideoFailure } from '../contract/video-failure';
import { BadImage, type CheckedImage, checkImage } from '../storage';
import { AI_SDK_OWNER } from '../storage/images';
import type { AiSdkCallOptions, AiSdkFile, ModelWarning } from './video-model-types';

/** A call in the words of the service's interface. */
export interface RequestOfCall {
  request: Record<string, unknown>;
  /** To be stored before the job is started. */
  image?: CheckedImage;
  /** What the interface has no word for. */
  warnings: ModelWarning[];
}

/** Values that break a rule, such as a duration of 12 seconds, are refused later, with the whole request. */
export function requestOfCall(call: AiSdkCallOptions): RequestOfCall {
  const { prompt, duration, seed } = call;
  const shape = shapeOfCall(call);
  const { url, image } = imageOfCall(call);
  const fields = { prompt, image_url: url, ...shape.fields, duration, seed };
  return {
    request: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    ...(image && { image }),
    warnings: [...shape.warnings, ...unsupportedIn(call)],
  };
}

/** A size has lines and a ratio. A ratio that is given too wins, as with other models. */
function shapeOfCall({ resolution: size, aspectRatio }: AiSdkCallOptions) {
  const ratio = ASPECT_RATIOS.find((known) => known === aspectRatio);
  const shape = size === undefined ? undefined : shapeOf(size);
  const warnings: ModelWarning[] = [];
  const leaveOut = (feature: string, value: string, known: readonly string[]) =>
    warnings.push(
      unsupported(feature, `${describeValue(value)} is none of ${known.join(', ')}, so it was left out.`),
    );
  if (aspectRatio !== undefined && ratio === undefined) leaveOut('aspectRatio', aspectRatio, ASPECT_RATIOS);
  if (size !== undefined && shape === undefined) leaveOut('resolution', size, SIZES);
  if (shape && ratio !== undefined && ratio !== shape.aspect_ratio) {
    const details = `${size} is ${shape.aspect_ratio}: the service is asked for ${shape.resolution} and ${ratio}.`;
    warnings.push({ type: 'compatibility', feature: 'resolution', details });
  }
  return { fields: { ...shape, ...(ratio !== undefined && { aspect_ratio: ratio }) }, warnings };
}

/** What the interface has no field for, and when a call asks for it. */
const UNSUPPORTED: readonly [
  feature: string,
  isAsked: (call: AiSdkCallOptions) => boolean,
  details: string,
][] = [
  ['fps', ({ fps }) => fps !== undefined, 'The service chooses the frame rate.'],
  [
    'generateAudio',
    ({ generateAudio }) => generateAudio !== undefined,
    'The service chooses whether there is sound.',
  ],
  [
    'frameImages',
    ({ frameImages = [] }) => frameImages.some(({ frameType }) => frameType !== 'first_frame'),
    'Only the first frame can be given.',
  ],
  [
    'inputReferences',
    ({ inputReferences = [] }) => inputReferences.length > 0,
    'The service takes one image, as the first frame: give it as prompt.image.',
  ],
];

const REQUEST_FIELD = 'A field of the service can be given in providerOptions.videogen.request.';

function unsupportedIn(call: AiSdkCallOptions): ModelWarning[] {
  return UNSUPPORTED.filter(([, isAsked]) => isAsked(call)).map(([feature, , details]) =>
    unsupported(feature, `${details} ${REQUEST_FIELD}`),
  );
}

const unsupported = (feature: string, details: string): ModelWarning => ({
  type: 'unsupported',
  feature,
  details,
});

function imageOfCall({ image, frameImages = [] }: AiSdkCallOptions): { url?: string; image?: CheckedImage } {
  const first = image ?? frameImages.find(({ frameType }) => frameType === 'first_frame')?.image;
  if (first === undefined) return {};
  const given = givenImage(first);
  if ('url' in given) return given;
  const { bytes } = given;
  try {
    const checked = checkImage(bytes, AI_SDK_OWNER);
    return { url: checked.url, image: checked };
  } catch (error) {
    if (error instanceof BadImage) throw refused(`the image ${error.message}`);
    throw error;
  }
}

const DATA_URL = /^data:[^,]{0,200};base64,/i;

/** The bytes of an image, or its URL if the service fetches it itself. What is neither is refused: left out, it would be missed. */
function givenImage(file: AiSdkFile): { bytes: Buffer } | { url: string } {
  const { type, data, url }: Record<string, unknown> = Object(file);
  if (type === 'file' && typeof data === 'string') return { bytes: Buffer.from(data, 'base64') };
  if (type === 'file' && ArrayBuffer.isView(data))
    return { bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength) };
  if (type !== 'url' || typeof url !== 'string') throw refused(IMAGE_RULE);
  const [head] = DATA_URL.exec(url) ?? [];
  if (head !== undefined) return { bytes: Buffer.from(url.slice(head.length), 'base64') };
  if (/^\s*data:/i.test(url)) throw refused(IMAGE_RULE);
  return { url };
}

export const refused = (message: string): VideoFailure => new VideoFailure('InvalidRequest', { message });

const IMAGE_RULE = 'the image must be a URL, bytes, or data:image/png;base64,…';
