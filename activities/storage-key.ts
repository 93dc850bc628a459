import { createHash } from 'node:crypto';

const EXTENSIONS: Record<string, string> = { 'video/webm': 'webm', 'video/quicktime': 'mov' };
const USUAL_EXTENSION = 'mp4';

/** File systems allow 255 bytes; the extension and a temporary name's trimmings need some. */
const LONGEST_NAME = 200;

/** Where a job's video goes: the caller's key, or a name after the workflow under the caller's prefix. */
export function storageKey(place: string | undefined, workflowId: string, contentType: string): string {
  if (place && !place.endsWith('/')) return place;
  return `${place ?? ''}${fileName(workflowId)}.${EXTENSIONS[contentType] ?? USUAL_EXTENSION}`;
}

/** Any workflow id as a file name, two ids never as the same. */
function fileName(workflowId: string): string {
  const name = encodeURIComponent(workflowId).replace(/^\./, '%2E');
  if (name.length <= LONGEST_NAME) return name;
  const digest = createHash('sha256').update(workflowId).digest('hex').slice(0, 32);
  return `${name.slice(0, LONGEST_NAME - digest.length - 1)}-${digest}`;
}
