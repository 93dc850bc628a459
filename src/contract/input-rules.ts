import { hasControls } from './clean-text';
import type { ReportedDownload } from './job';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from './lost-submit';
import { jsonBytes } from './sizes';

/** Rules of a job's own fields that doors and workflow share: a job can be started past every door that parses. */

const LONGEST_KEY = 500;
/** Bytes of one name: file systems take 255, and `.json` and an extension are added to some. */
export const LONGEST_SEGMENT_BYTES = 240;
/** The folders of our own records: a video among them could take the place of one. */
const RESERVED_FOLDERS = ['jobs', 'batches'];
/** Bytes, as JSON writes it: hundreds of ids travel together. */
const LONGEST_TASK_ID = 1_000;
const LONGEST_IDEMPOTENCY_KEY = 255;
/** Bytes: Temporal takes no longer one. The items of a batch have no workflow of their own. */
const LONGEST_WORKFLOW_ID = 1_000;

/** What a key may leave open until the video is there. */
export const KEY_PLACEHOLDERS = ['workflowId', 'taskId', 'date', 'ext'] as const;

export type KeyPlaceholder = (typeof KEY_PLACEHOLDERS)[number];

export const STORAGE_RULE = `must name a place inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; ${KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ')} may stand in it; each name takes at most ${LONGEST_SEGMENT_BYTES} bytes, and ${RESERVED_FOLDERS.map((name) => `${name}/`).join(' and ')} are reserved`;
export const TASK_ID_RULE = `must be text of at most ${LONGEST_TASK_ID} bytes without control characters, and not empty`;
export const WORKFLOW_ID_RULE = `must be text of at most ${LONGEST_WORKFLOW_ID} bytes, and not empty`;
export const IDEMPOTENCY_KEY_RULE = `must be 1 to ${LONGEST_IDEMPOTENCY_KEY} printable ASCII characters without spaces`;
export const LOST_SUBMIT_RULE = `must be one of ${LOST_SUBMIT_POLICIES.join(', ')}`;
export const FILE_KEY_RULE = 'must be the key of a file inside the storage, such as "batches/foxes.jsonl"';
export const QUEUE_RULE = 'must be the name of a task queue';
export const FLAG_RULE = 'must be true or false';

export function isTaskId(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > LONGEST_TASK_ID) return false;
  return !hasControls(value) && jsonBytes(value) - '""'.length <= LONGEST_TASK_ID;
}

/** The name of a job or a batch. */
export function isWorkflowId(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > LONGEST_WORKFLOW_ID) return false;
  return new TextEncoder().encode(value).length <= LONGEST_WORKFLOW_ID;
}

/** True for a key or prefix where a job may put its video. */
export function isStorageKey(key: unknown): key is string {
  // Some file systems take Jobs/ for jobs/.
  return isPlainKey(key) && !RESERVED_FOLDERS.some((folder) => key.toLowerCase().startsWith(`${folder}/`));
}

/** True for the key of one file, with nothing left open in it. */
export function isFileKey(key: unknown): key is string {
  return isPlainKey(key) && !key.endsWith('/') && !key.includes('{');
}

/** True for a key or prefix that stays inside the storage, whatever kind of storage it is. */
export function isPlainKey(key: unknown): key is string {
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) return false;
  if (hasControls(key) || /\\|^\/|^[a-z]:/i.test(key)) return false;
  const placeholders = [...key.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name);
  if (!placeholders.every((name) => KEY_PLACEHOLDERS.some((known) => known === name))) return false;
  const [last, ...folders] = key.split('/').reverse();
  return (last === '' || isName(last)) && folders.every(isName);
}

function isName(part: string | undefined): boolean {
  if (part === undefined || part === '' || part === '.' || part === '..') return false;
  return jsonBytes(part) - '""'.length <= LONGEST_SEGMENT_BYTES;
}

/** It travels as a header. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_IDEMPOTENCY_KEY && /^[\x21-\x7e]+$/.test(value);
}

export function isLostSubmitPolicy(value: unknown): value is LostSubmitPolicy {
  return LOST_SUBMIT_POLICIES.some((policy) => policy === value);
}

export function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

export function isQueueName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** Anybody can send a signal, of any shape. */
export function isDownloadProgress(value: unknown): value is ReportedDownload {
  const { bytes, of }: { bytes?: unknown; of?: unknown } = Object(value);
  return typeof bytes === 'number' && (of == null || typeof of === 'number');
}

const LONGEST_DECISION_ID = 100;

/** The name that the sender of a signal gave it, to find what came of it. */
export function isDecisionId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_DECISION_ID;
}

/** What is wrong with a decision about a lost submit, from whichever language it came; undefined when nothing is. */
export function decisionProblem(given: unknown): string | undefined {
  const { decision, taskId }: { decision?: unknown; taskId?: unknown } = Object(given);
  switch (decision) {
    case 'resubmit':
    case 'abandon':
      return taskId == null ? undefined : `${decision} takes no taskId`;
    case 'adopt':
      return isTaskId(taskId) ? undefined : `taskId ${TASK_ID_RULE}`;
    default:
      return 'decision must be one of resubmit, adopt (with the taskId) and abandon';
  }
}
