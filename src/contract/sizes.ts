/**
 * How much goes through Temporal in one piece. Its server takes 2 MiB for one input or answer, and 4 MB for everything that
 * one workflow task, or one start, sends. A payload codec may add a third (base64), which these limits leave room for.
 */

/** Of one request: the input of its job, and that of its submit. */
export const LARGEST_REQUEST_BYTES = 1_500_000;
/** Of all requests in the input of a batch, which is sent again, with what is carried, when the batch continues as new. */
export const LARGEST_REQUESTS_BYTES = 800_000;
/** Of a file of requests: a worker has it in memory as a whole. */
export const LARGEST_REQUESTS_FILE_BYTES = 100_000_000;
/** Of one batch: a worker reads all of them for each page, and does nothing else meanwhile. */
export const MOST_ITEMS = 100_000;

/** The size of a value on its way. The sandbox of workflows has no `Buffer`. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? '').length;
}

/** Why a request cannot go through Temporal, and what to do; undefined when it can. */
export function requestSizeProblem(request: object): string | undefined {
  const bytes = bytesIfJson(request);
  if (bytes === undefined) return 'the request cannot be written as JSON';
  if (bytes <= LARGEST_REQUEST_BYTES) return undefined;
  const remedy = 'image_url' in request ? 'give image_url as a link' : 'shorten it';
  return `the request is ${megabytes(bytes)}; at most ${megabytes(LARGEST_REQUEST_BYTES)} fit into a message of Temporal: ${remedy}`;
}

function bytesIfJson(value: unknown): number | undefined {
  try {
    return jsonBytes(value);
  } catch {
    return undefined;
  }
}

/** The same of the requests in the input of a batch. */
export function requestsSizeProblem(requests: readonly unknown[]): string | undefined {
  const bytes = jsonBytes(requests);
  if (bytes <= LARGEST_REQUESTS_BYTES) return undefined;
  return `requests are ${megabytes(bytes)} together; at most ${megabytes(LARGEST_REQUESTS_BYTES)} fit into the input of a batch: write them into a file of the workers' storage, a line each, and name it as requestsFrom`;
}

/** The same of the requests in a file. */
export function requestsFileProblem(bytes: number): string | undefined {
  if (bytes <= LARGEST_REQUESTS_FILE_BYTES) return undefined;
  return `it is over ${megabytes(LARGEST_REQUESTS_FILE_BYTES)}; split it into several batches`;
}

export function itemCountProblem(items: number): string | undefined {
  if (items <= MOST_ITEMS) return undefined;
  return `it has ${items} requests; at most ${MOST_ITEMS} go into one batch: split it into several`;
}

/** As many from the first on as fit into so many bytes, and one at least. */
export function firstThatFit<T>(all: readonly T[], limits: { most: number; bytes: number }): T[] {
  let bytes = 0;
  const some = all.slice(0, limits.most);
  const end = some.findIndex((one, index) => {
    bytes += jsonBytes(one);
    return index > 0 && bytes > limits.bytes;
  });
  return end === -1 ? some : some.slice(0, end);
}

/** The beginning of a text, as long as it takes at most so many bytes as JSON. */
export function cutToBytes(text: string, most: number): string {
  if (jsonBytes(text) <= most) return text;
  let cut = text.slice(0, most);
  while (cut !== '' && jsonBytes(`${cut}…`) > most) cut = cut.slice(0, -Math.ceil(cut.length / 8));
  return cut === '' ? '' : `${cut}…`;
}

/** Rounded up, so that what is over a limit never reads as the limit itself. */
function megabytes(bytes: number): string {
  return `${(Math.ceil(bytes / 100_000) / 10).toFixed(1)} MB`;
}
