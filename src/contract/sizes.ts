/**
 * Temporal's server accepts 2 MiB for one payload and 4 MB for one message of a workflow task or a start. These limits leave
 * room for a payload codec that adds a third (base64).
 */

/** One request, which is in the input of its job and of its submit. */
export const LARGEST_REQUEST_BYTES = 1_500_000;
/** All requests in the input of a batch. Continue-as-new sends them again, with what is carried over. */
export const LARGEST_REQUESTS_BYTES = 800_000;
/** A file of requests, which the worker reads into memory. */
export const LARGEST_REQUESTS_FILE_BYTES = 100_000_000;
/** The items of one batch. The worker parses all of them for each page, which blocks it meanwhile. */
export const MOST_ITEMS = 100_000;

/** The size of a value as JSON. The workflow sandbox has no `Buffer`. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? '').length;
}

/** Why a request does not fit into a Temporal message, and what to do; undefined when it fits. */
export function requestSizeProblem(request: object): string | undefined {
  let bytes: number;
  try {
    bytes = jsonBytes(request);
  } catch {
    return 'the request cannot be written as JSON';
  }
  if (bytes <= LARGEST_REQUEST_BYTES) return undefined;
  const fix = 'image_url' in request ? 'give image_url as a link' : 'shorten it';
  return `the request is ${megabytes(bytes)}; at most ${megabytes(LARGEST_REQUEST_BYTES)} fit into a Temporal message: ${fix}`;
}

/** The same for the requests in the input of a batch. */
export function requestsSizeProblem(requests: readonly unknown[]): string | undefined {
  const bytes = jsonBytes(requests);
  if (bytes <= LARGEST_REQUESTS_BYTES) return undefined;
  return `requests are ${megabytes(bytes)} together; at most ${megabytes(LARGEST_REQUESTS_BYTES)} fit into the input of a batch: write them to a file in the worker's storage, one per line, and pass its key as requestsFrom`;
}

/** The same for a file of requests. */
export function requestsFileProblem(bytes: number): string | undefined {
  if (bytes <= LARGEST_REQUESTS_FILE_BYTES) return undefined;
  return `the file is larger than ${megabytes(LARGEST_REQUESTS_FILE_BYTES)}; split it into several batches`;
}

export function itemCountProblem(items: number): string | undefined {
  if (items <= MOST_ITEMS) return undefined;
  return `there are ${items} requests; a batch has at most ${MOST_ITEMS}: split them into several batches`;
}

/** The first elements that fit into the limits, and at least one. */
export function firstThatFit<T>(all: readonly T[], limits: { most: number; bytes: number }): T[] {
  let bytes = 0;
  const some = all.slice(0, limits.most);
  const end = some.findIndex((one, index) => {
    bytes += jsonBytes(one);
    return index > 0 && bytes > limits.bytes;
  });
  return end === -1 ? some : some.slice(0, end);
}

/** Rounded up, so that a size above a limit never reads as the limit itself. */
function megabytes(bytes: number): string {
  return `${(Math.ceil(bytes / 100_000) / 10).toFixed(1)} MB`;
}
