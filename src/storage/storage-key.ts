import { hash } from 'node:crypto';
import { fileName } from '../contract/digest';
import { type KeyPlaceholder, LONGEST_SEGMENT_BYTES } from '../contract/input-rules';

export const DEFAULT_KEY_TEMPLATE = '{workflowId}.{ext}';

export interface KeyParts {
  workflowId: string;
  taskId: string;
  /** The start of the job, so that every attempt has the same date. */
  startedAtMs: number;
  extension: string;
}

/** The key of a job's video: from the job's own template, or from the worker's template under the job's prefix. */
export function storageKey(jobKey: string | undefined, template: string, parts: KeyParts): string {
  const values: Record<KeyPlaceholder, string> = {
    workflowId: fileName(parts.workflowId),
    taskId: fileName(parts.taskId),
    date: new Date(parts.startedAtMs).toISOString().slice(0, 10),
    ext: parts.extension,
  };
  const pattern = jobKey === undefined || jobKey.endsWith('/') ? `${jobKey ?? ''}${template}` : jobKey;
  const filled = pattern.replace(
    /\{(workflowId|taskId|date|ext)\}/g,
    (_, name: KeyPlaceholder) => values[name],
  );
  return filled.split('/').map(shortSegment).join('/');
}

/** Shortens a name that its values made too long. It keeps the extension, and different names stay different. */
function shortSegment(segment: string): string {
  if (Buffer.byteLength(segment) <= LONGEST_SEGMENT_BYTES) return segment;
  const extension = /\.[a-z0-9]{1,10}$/i.exec(segment)?.[0] ?? '';
  const end = `-${hash('sha256', segment).slice(0, 32)}${extension}`;
  const beginning = Buffer.from(segment)
    .subarray(0, LONGEST_SEGMENT_BYTES - end.length)
    .toString();
  // Half a character decodes to U+FFFD.
  return `${beginning.replace(/\ufffd$/, '')}${end}`;
}
