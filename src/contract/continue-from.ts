import { isWorkflowId } from './input-rules';

const SCHEME = 'videogen-last-frame:';

/**
 * `videogen-last-frame:fox-1`: what `image_url` is in a job that continues from another one. As a part of the request it makes
 * the job another one than the same request without it, in its identity, its idempotency key and its record. Jobs say it with
 * `continueFrom`; items of a batch say it so.
 *
 * @example
 * ```ts
 * const next = { prompt: 'The fox looks up', image_url: lastFrameUrl('fox-1') };
 * ```
 */
export const lastFrameUrl = (job: string) => `${SCHEME}${encodeURIComponent(job)}`;

/** True for every URL that claims to be one, in any case and with any blanks that URLs allow. */
export function claimsToBeLastFrame(url: unknown): url is string {
  return typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === SCHEME;
}

/** The job that is continued from; undefined for what is not a reference of exactly our form. */
export function parseLastFrameUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || !url.startsWith(SCHEME)) return undefined;
  try {
    const job = decodeURIComponent(url.slice(SCHEME.length));
    return isWorkflowId(job) && lastFrameUrl(job) === url ? job : undefined;
  } catch {
    return undefined;
  }
}

/** Any program may have written an input; null counts as absent. */
interface GivenInput {
  request?: unknown;
  continueFrom?: unknown;
}

/** Why a job cannot continue from another one as its input says; undefined when it can, or does not. */
export function continueFromProblem({ request, continueFrom }: GivenInput): string | undefined {
  if (continueFrom == null) return undefined;
  if (request == null) return 'continueFrom needs a request: a task that is adopted has its image already';
  const { image_url: url }: { image_url?: unknown } = Object(request);
  return url == null
    ? undefined
    : 'continueFrom and image_url both name an image to start from: give one of them';
}

/** The input with `continueFrom` as the image of its request, which is what the job is compared and recorded by. */
export function withLastFrame<Input extends GivenInput>(input: Input): Input {
  const { request, continueFrom } = input;
  if (typeof continueFrom !== 'string' || typeof request !== 'object' || request === null) return input;
  const { continueFrom: _, ...rest } = input;
  return { ...rest, request: { ...request, image_url: lastFrameUrl(continueFrom) } } as Input;
}
