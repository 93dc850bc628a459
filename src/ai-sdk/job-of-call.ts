import { createHash } from 'node:crypto';
import { SIZES, shapeOf } from '../client/video-size';
import type { JobOptions, VideoInput } from '../contract/job';
import { parseJobInput } from '../contract/job-input';
import { VideoFailure } from '../contract/video-failure';
import { BadImage, type CheckedImage, checkImage } from '../storage';
import { AI_SDK_OWNER } from '../storage/images';
import type { AiSdkCallOptions, ModelWarning } from './video-model-types';

/** What `providerOptions.videogen` of a call takes: every option of a job, and these. */
export interface ModelJobOptions extends JobOptions {
  /**
   * The workflow id, with the scope of the model in front of it. The same name joins the job, whatever its options are; another
   * request under it is refused.
   */
  name?: string;
  /** Fields for the service beyond those of the call. They replace what the call says. */
  request?: Record<string, unknown>;
}

/** The name of this provider in `providerOptions` and `providerMetadata`. */
export const PROVIDER = 'videogen';

/** The job that a call becomes. */
export interface JobOfCall {
  input: VideoInput;
  workflowId: string;
  /** To be stored before the job is started. */
  image?: CheckedImage;
  /** What the interface of the service has no field for. */
  warnings: ModelWarning[];
}

export type ModelCallOptions = AiSdkCallOptions & { webhookUrl?: string | undefined };

/** Checks a call and names its job, before anything is stored or started. Throws InvalidRequest. */
export function jobOfCall(
  call: ModelCallOptions,
  /** The options of every job of the model. */
  defaults: Omit<ModelJobOptions, 'name'> = {},
  scope: string,
): JobOfCall {
  if (call.n > 1) {
    throw refused(
      `n is ${call.n}, and the same call is the same job: make one call for each video, each with its own seed or providerOptions.videogen.name`,
    );
  }
  const given: ModelJobOptions = Object(call.providerOptions?.[PROVIDER]);
  const { name, request: _, ...options } = { callbackUrl: call.webhookUrl, ...defaults, ...given };
  const extra = { ...defaults.request, ...given.request };
  const image = imageOf(call);
  const request = { ...requestOf(call), ...(image && { image_url: image.url }), ...extra };
  // Which fields the service takes beyond the interface, the client knows and checks.
  const parsed = parseJobInput({ request, ...options }, Object.keys(extra));
  if (!parsed.ok) throw refused(parsed.problem);
  return {
    input: parsed.input,
    workflowId: nameOf(call, name, parsed.input, scope),
    ...(image && { image }),
    warnings: unsupportedIn(call),
  };
}

export const refused = (message: string): VideoFailure => new VideoFailure('InvalidRequest', { message });

/** Values that break a rule, such as a duration of 12 seconds, are refused later, with the whole request. */
function requestOf({ prompt, duration, seed, resolution: size, aspectRatio, image }: AiSdkCallOptions) {
  const shape = size === undefined ? {} : shapeOf(size);
  if (shape === undefined) throw refused(`resolution must be one of ${SIZES.join(', ')}`);
  const fields = {
    prompt,
    image_url: image?.type === 'url' ? image.url : undefined,
    ...shape,
    // A ratio that is given too wins, as with other models.
    ...(aspectRatio !== undefined && { aspect_ratio: aspectRatio }),
    duration,
    seed,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** An image that is given as bytes; the service fetches a link itself. */
function imageOf({ image }: AiSdkCallOptions): CheckedImage | undefined {
  if (image?.type !== 'file') return undefined;
  const { data } = image;
  try {
    return checkImage(
      typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data),
      AI_SDK_OWNER,
    );
  } catch (error) {
    throw error instanceof BadImage ? refused(`the image ${error.message}`) : error;
  }
}

function unsupportedIn({
  fps,
  generateAudio,
  frameImages,
  inputReferences,
}: AiSdkCallOptions): ModelWarning[] {
  const asked = {
    fps,
    generateAudio,
    // `ai` hands the first frame over as the image.
    frameImages: frameImages?.find(({ frameType }) => frameType !== 'first_frame'),
    inputReferences: inputReferences?.[0],
  };
  return Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .map(([feature]) => ({ type: 'unsupported', feature, details: OWN_FIELD }));
}

const OWN_FIELD =
  'It was left out. If the service has a field for it, give that in providerOptions.videogen.request.';

/** Every start by `ai` has a key of this form, a new one each time: it would make the same call another job. */
const KEY_OF_AI = /^aisdk_vid_/;

/**
 * The workflow id of a call. The same call has the same one, in any process: it joins its job instead of paying again. A name of
 * the caller's comes first, then an Idempotency-Key of the caller's.
 */
function nameOf({ headers = {} }: AiSdkCallOptions, name: unknown, input: VideoInput, scope: string): string {
  if (name !== undefined) {
    if (typeof name !== 'string' || name === '') throw refused('name must be text, and not empty');
    return name.startsWith(scope) ? name : scope + name;
  }
  const isKey = ([header, value = '']: [string, string?]) =>
    // An empty one would be that of every caller who forgot it.
    header.toLowerCase() === 'idempotency-key' && value !== '' && !KEY_OF_AI.test(value);
  const [, key] = Object.entries(headers).find(isKey) ?? [];
  return scope + digestOf(key === undefined ? ['call', input] : ['key', key]);
}

/**
 * The order of names in the JSON makes no difference: programs write their options down in any. Another digest would have
 * every call pay again that is repeated after an update of this package.
 */
function digestOf(parts: readonly unknown[]): string {
  const sorted = JSON.stringify(parts, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 32);
}
