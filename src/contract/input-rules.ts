import { type BatchInput, ON_FAILURE, type OnFailure } from './batch';
import { isMoney, isSeconds, isVideoCount, MONEY_RULE, SECONDS_RULE, VIDEOS_RULE } from './caps';
import { hasControls } from './clean-text';
import { type DurationText, durationMs } from './duration';
import { EXTRAS_RULE, isExtras } from './extras';
import type { JobInput, ReportedDownload } from './job';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from './lost-submit';
import { isServiceList, isServiceName, SERVICE_NAME_RULE, SERVICES_RULE } from './service-choice';
import { jsonBytes } from './sizes';

const LONGEST_KEY_CHARS = 500;
/** File systems allow 255 bytes, and some names get `.json` and an extension on top. */
export const LONGEST_SEGMENT_BYTES = 240;
/** Our own records are there: a video among them could overwrite one. */
const RESERVED_FOLDERS = ['jobs', 'batches'];
/** As JSON, because hundreds of task ids travel in one message. */
const LONGEST_TASK_ID_BYTES = 1_000;
const LONGEST_IDEMPOTENCY_KEY_CHARS = 255;
/** Temporal's limit, which items of a batch keep too, although they have no workflow of their own. */
const LONGEST_WORKFLOW_ID_BYTES = 1_000;
const LONGEST_DECISION_ID_CHARS = 100;
const LONGEST_CALLBACK_URL_CHARS = 2_000;
const WIDEST_WINDOW = 500;

/** What a storage key may leave open until the video is stored. */
export const KEY_PLACEHOLDERS = ['workflowId', 'taskId', 'date', 'ext'] as const;

export type KeyPlaceholder = (typeof KEY_PLACEHOLDERS)[number];

export const TASK_ID_RULE = `must be text of at most ${LONGEST_TASK_ID_BYTES} bytes without control characters, and not empty`;
export const WORKFLOW_ID_RULE = `must be text of at most ${LONGEST_WORKFLOW_ID_BYTES} bytes, and not empty`;
export const CONTINUE_FROM_RULE = `must be the name of a job, of at most ${LONGEST_WORKFLOW_ID_BYTES} bytes`;
export const LOST_SUBMIT_RULE = `must be one of ${LOST_SUBMIT_POLICIES.join(', ')}`;

const STORAGE_RULE = `must be a key inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; it may contain ${KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}; each name in it has at most ${LONGEST_SEGMENT_BYTES} bytes, and ${RESERVED_FOLDERS.map((name) => `${name}/`).join(' and ')} are reserved`;

export function isTaskId(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > LONGEST_TASK_ID_BYTES) return false;
  return !hasControls(value) && jsonBytes(value) - '""'.length <= LONGEST_TASK_ID_BYTES;
}

/** True for a name that a job or a batch may have. */
export function isWorkflowId(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '') return false;
  // Half a character has no bytes.
  if (value.length > LONGEST_WORKFLOW_ID_BYTES || /\p{Cs}/u.test(value)) return false;
  return new TextEncoder().encode(value).length <= LONGEST_WORKFLOW_ID_BYTES;
}

/** True for a key or prefix that a job may store its video under. */
export function isStorageKey(key: unknown): key is string {
  return isPlainKey(key) && !isReserved(key);
}

/** True for the key of a stored video: placeholders may have made it longer than a caller's may be. */
export function isVideoKey(key: string): boolean {
  return key.split('/').every(isSegment) && !isReserved(key);
}

/** Some file systems treat Jobs/ as jobs/. */
function isReserved(key: string): boolean {
  return RESERVED_FOLDERS.some((folder) => key.toLowerCase().startsWith(`${folder}/`));
}

/** True for the key of one file, without placeholders. */
export function isFileKey(key: unknown): key is string {
  return isPlainKey(key) && !key.endsWith('/') && !key.includes('{');
}

/** True for a key or prefix that stays inside the storage, whatever the storage is. */
export function isPlainKey(key: unknown): key is string {
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY_CHARS) return false;
  if (hasControls(key) || /\\|^\/|^[a-z]:/i.test(key)) return false;
  const placeholders = [...key.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name);
  if (!placeholders.every((name) => KEY_PLACEHOLDERS.some((known) => known === name))) return false;
  const [last, ...folders] = key.split('/').reverse();
  return (last === '' || isSegment(last)) && folders.every(isSegment);
}

function isSegment(segment: string | undefined): boolean {
  if (segment === undefined || segment === '' || segment === '.' || segment === '..') return false;
  return jsonBytes(segment) - '""'.length <= LONGEST_SEGMENT_BYTES;
}

export const BATCH_STORAGE_RULE =
  'must end with / or contain {workflowId} or {taskId}, so that each video has its own key';

/** True for a key that gives each item of a batch its own. */
export function isBatchStorage(storage: unknown): boolean {
  if (storage == null) return true;
  return isStorageKey(storage) && (storage.endsWith('/') || /\{(workflowId|taskId)\}/.test(storage));
}

/** It travels as a header. */
function isIdempotencyKey(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LONGEST_IDEMPOTENCY_KEY_CHARS) return false;
  return /^[\x21-\x7e]+$/.test(value);
}

/** Whether the worker may call it is the worker's decision. A user and a password would not be sent. */
function isCallbackUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LONGEST_CALLBACK_URL_CHARS) return false;
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

/** It becomes part of workflow ids, between dashes, and of lines in logs. */
const CALLER = /^[a-z0-9](?:[a-z0-9_]{0,61}[a-z0-9])?$/;
export const CALLER_RULE = 'must be 1 to 63 small letters, digits or underscores, such as web_shop';

/** True for the name of a caller: of a gateway key, or as programs name theirs. */
export function isCaller(value: unknown): value is string {
  return typeof value === 'string' && CALLER.test(value);
}

export function isLostSubmitPolicy(value: unknown): value is LostSubmitPolicy {
  return LOST_SUBMIT_POLICIES.some((policy) => policy === value);
}

/** The check of one field, and the sentence that follows its name when the check fails. */
export interface FieldRule<T> {
  accepts: (value: unknown) => value is T;
  sentence: string;
}

export interface FieldGroup {
  fields: Record<string, FieldRule<unknown>>;
}

export type FieldRules = Record<string, FieldRule<unknown> | FieldGroup>;

export const DURATION_RULE = 'must be milliseconds or a duration such as "90s", "30m" or "2h"';

const DURATION: FieldRule<DurationText> = {
  accepts: (value): value is DurationText => durationMs(value) !== undefined,
  sentence: DURATION_RULE,
};

/** What `keepFor` may be instead of a duration: it overrides the worker's setting. */
export const FOREVER = 'forever';

export const KEEP_FOR_RULE = `must be milliseconds, a duration such as "12h" or "30d", or "${FOREVER}"`;

export function isKeepFor(value: unknown): value is DurationText {
  return value === FOREVER || durationMs(value) !== undefined;
}

const FEWEST_POLLS_PER_SECOND_SAVED = 0.01;
const MOST_POLLS_PER_SECOND_SAVED = 100;

export const POLLS_PER_SECOND_SAVED_RULE = `must be a number from ${FEWEST_POLLS_PER_SECOND_SAVED} to ${MOST_POLLS_PER_SECOND_SAVED}`;

export function isPollsPerSecondSaved(value: unknown): value is number {
  if (typeof value !== 'number') return false;
  return value >= FEWEST_POLLS_PER_SECOND_SAVED && value <= MOST_POLLS_PER_SECOND_SAVED;
}

const QUEUE: FieldRule<string> = {
  accepts: (value): value is string => typeof value === 'string' && value.trim() !== '',
  sentence: 'must be the name of a task queue',
};

/**
 * The rule of every field of a job but its request. The zod schema of callers is made from this table, and workflows
 * check it without zod, because any SDK can start a job without our client.
 */
export const JOB_FIELDS = {
  taskId: { accepts: isTaskId, sentence: TASK_ID_RULE },
  deadline: DURATION,
  storage: { accepts: isStorageKey, sentence: STORAGE_RULE },
  polling: {
    fields: {
      min: DURATION,
      max: DURATION,
      pollsPerSecondSaved: { accepts: isPollsPerSecondSaved, sentence: POLLS_PER_SECOND_SAVED_RULE },
    },
  },
  onLostSubmit: { accepts: isLostSubmitPolicy, sentence: LOST_SUBMIT_RULE },
  holdFor: DURATION,
  idempotencyKey: {
    accepts: isIdempotencyKey,
    sentence: `must be 1 to ${LONGEST_IDEMPOTENCY_KEY_CHARS} printable ASCII characters without spaces`,
  },
  keepBad: {
    accepts: (value): value is boolean => typeof value === 'boolean',
    sentence: 'must be true or false',
  },
  keepFor: { accepts: isKeepFor, sentence: KEEP_FOR_RULE },
  extras: { accepts: isExtras, sentence: EXTRAS_RULE },
  continueFrom: { accepts: isWorkflowId, sentence: CONTINUE_FROM_RULE },
  callbackUrl: {
    accepts: isCallbackUrl,
    sentence: `must be an http(s) URL of at most ${LONGEST_CALLBACK_URL_CHARS} ASCII characters without a user and a password`,
  },
  cap: {
    fields: {
      videos: { accepts: isVideoCount, sentence: VIDEOS_RULE },
      seconds: { accepts: isSeconds, sentence: SECONDS_RULE },
      money: { accepts: isMoney, sentence: MONEY_RULE },
    },
  },
  caller: { accepts: isCaller, sentence: CALLER_RULE },
  service: { accepts: isServiceName, sentence: SERVICE_NAME_RULE },
  serviceKey: { accepts: isServiceName, sentence: SERVICE_NAME_RULE },
  services: { accepts: isServiceList, sentence: SERVICES_RULE },
  fallbackAfter: DURATION,
  queues: { fields: { submit: QUEUE, download: QUEUE } },
} satisfies Record<Exclude<keyof JobInput, 'request'>, FieldRule<unknown> | FieldGroup>;

export const JOB_SOURCE_RULE = 'a job needs either a request or the taskId of a task to adopt, and not both';

/** The rules of the fields that only a batch has. */
export const BATCH_FIELDS = {
  requests: {
    accepts: (value): value is unknown[] => Array.isArray(value) && value.length > 0,
    sentence: 'must be a list of at least one request',
  },
  requestsFrom: {
    accepts: isFileKey,
    sentence: 'must be the key of a file inside the storage, such as "batches/foxes.jsonl"',
  },
  window: {
    accepts: (value): value is number =>
      Number.isInteger(value) && Number(value) >= 1 && Number(value) <= WIDEST_WINDOW,
    sentence: `must be a whole number from 1 to ${WIDEST_WINDOW}`,
  },
  onFailure: {
    accepts: (value): value is OnFailure => ON_FAILURE.some((known) => known === value),
    sentence: `must be one of ${ON_FAILURE.join(', ')}`,
  },
} satisfies Record<Exclude<keyof BatchInput, keyof JobInput>, FieldRule<unknown>>;

export const BATCH_SOURCE_RULE = 'a batch needs either requests or requestsFrom, and not both';

/** The options of a job that a batch does not have, and why. */
export const NOT_IN_BATCHES = {
  idempotencyKey: 'idempotencyKey is for a single job; each item of a batch has its own key',
  callbackUrl: 'callbackUrl is for a single job; a batch sends no webhooks, so wait for its result',
  continueFrom:
    'continueFrom is for a single job; an item of a batch names its job in its own image_url, such as videogen-last-frame:fox-1',
};

/** Why these options are not those of a batch; undefined when they may be. */
export function batchOptionProblem(options: object): string | undefined {
  const given = Object.entries(NOT_IN_BATCHES).find(([name]) => Reflect.get(options, name) != null);
  return given?.[1];
}

/** The first field that breaks its rule, as a sentence. Null counts as absent: some SDKs send it for an unset field. */
export function fieldProblem(input: object, rules: FieldRules, group = ''): string | undefined {
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = Reflect.get(input, name);
    if (value == null) continue;
    const path = `${group}${name}`;
    const problem =
      'fields' in rule
        ? fieldProblem(Object(value), rule.fields, `${path}.`)
        : rule.accepts(value)
          ? undefined
          : `${path} ${rule.sentence}`;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Any program can send a signal, of any shape. */
export function isDownloadProgress(value: unknown): value is ReportedDownload {
  const { bytes, of }: { bytes?: unknown; of?: unknown } = Object(value);
  return typeof bytes === 'number' && (of == null || typeof of === 'number');
}

/** The name that a sender gives its signal, to find the outcome of it. */
export function isDecisionId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_DECISION_ID_CHARS;
}

/** Why a decision about a lost submit cannot be taken; undefined when it can. */
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
