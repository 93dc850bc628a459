import { createHash } from 'node:crypto';
import { type KeyPlaceholder, LONGEST_SEGMENT_BYTES } from '../../src/contract/input-rules';

/** File systems allow 255 bytes; the extension and a temporary name's trimmings need some. */
const LONGEST_NAME = 200;

export const DEFAULT_KEY_TEMPLATE = '{workflowId}.{ext}';

export interface KeyParts {
  workflowId: string;
  taskId: string;
  /** The start of the job: the same for every attempt, on whichever day it is made. */
  startedAtMs: number;
  extension: string;
}

/** Where a job's video goes: by the job's own template, or under its prefix by the worker's. */
export function storageKey(place: string | undefined, template: string, parts: KeyParts): string {
  const values: Record<KeyPlaceholder, string> = {
    workflowId: fileName(parts.workflowId),
    taskId: fileName(parts.taskId),
    date: new Date(parts.startedAtMs).toISOString().slice(0, 10),
    ext: parts.extension,
  };
  const whole = place === undefined || place.endsWith('/') ? `${place ?? ''}${template}` : place;
  const filled = whole.replace(
    /\{(workflowId|taskId|date|ext)\}/g,
    (_, name: KeyPlaceholder) => values[name],
  );
  return filled.split('/').map(shortSegment).join('/');
}

/** What the placeholders stand for may be too long for one name; the extension stays, and two names never become one. */
function shortSegment(segment: string): string {
  if (Buffer.byteLength(segment) <= LONGEST_SEGMENT_BYTES) return segment;
  const extension = /\.[a-z0-9]{1,10}$/i.exec(segment)?.[0] ?? '';
  const end = `-${createHash('sha256').update(segment).digest('hex').slice(0, 32)}${extension}`;
  const beginning = Buffer.from(segment)
    .subarray(0, LONGEST_SEGMENT_BYTES - end.length)
    .toString();
  // A character that was cut in two is read as this one.
  return `${beginning.replace(/\ufffd+$/, '')}${end}`;
}

/** Any id as a file name, two ids never as the same. */
export function fileName(id: string): string {
  const name = encodeURIComponent(id).replace(/^\./, '%2E');
  if (name.length <= LONGEST_NAME) return name;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 32);
  return `${name.slice(0, LONGEST_NAME - digest.length - 1)}-${digest}`;
}
