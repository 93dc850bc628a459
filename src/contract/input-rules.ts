import { CAP_FIELDS } from './caps';
import { hasControls, isRecord } from './clean-text';
import { durationMs } from './duration';
import type { FallbackInput, JobInput } from './job';
import { LOST_SUBMIT_POLICIES } from './lost-submit';
import { describeNames } from './redact-links';
import {
  choiceProblem,
  isServiceList,
  isServiceName,
  SERVICE_NAME_RULE,
  SERVICES_RULE,
} from './service-choice';
import { jsonBytes } from './sizes';

const LONGEST_KEY_CHARS = 500;
/** File systems allow 255 bytes, and some names get `.json` and an extension on top. */
export const LONGEST_SEGMENT_BYTES = 240;
/** Our own files are in folders of these names. A job's name can become the first part of its video's key. */
const RESERVED_NAMES = ['jobs', 'batches', 'images', 'gateway', 'tasks'];
const RESERVED_RULE = `${RESERVED_NAMES.join(', ')} are reserved, as names and as folders`;
/** Temporal's limit for a workflow id. As JSON, because hundreds of task ids travel in one message. */
const LONGEST_ID_BYTES = 1_000;
const LONGEST_IDEMPOTENCY_KEY_CHARS = 255;
const LONGEST_CALLBACK_URL_CHARS = 2_000;

/** What a storage key may leave open until the video is stored. */
export const KEY_PLACEHOLDERS = ['workflowId', 'taskId', 'date', 'ext'] as const;

export type KeyPlaceholder = (typeof KEY_PLACEHOLDERS)[number];

export const TASK_ID_RULE = `must be text of at most ${LONGEST_ID_BYTES} bytes, not blank and without control characters`;
export const WORKFLOW_ID_RULE = `${TASK_ID_RULE}; ${RESERVED_RULE}`;

const STORAGE_RULE = `must be a key inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; it may contain ${KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}; each name in it has at most ${LONGEST_SEGMENT_BYTES} bytes, and ${RESERVED_RULE}`;

export function isTaskId(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '' || hasControls(value)) return false;
  return jsonBytes(value) - '""'.length <= LONGEST_ID_BYTES;
}

/** True for a name that a job or a batch may have. */
export function isWorkflowId(value: unknown): value is string {
  return isTaskId(value) && !isReserved(value);
}

/** True for a key or prefix that a job may store its video under. */
export function isStorageKey(key: unknown): key is string {
  return isPlainKey(key) && !isReserved(key);
}

/** Some file systems treat Jobs as jobs. */
function isReserved(name: string): boolean {
  const [first = ''] = name.toLowerCase().split('/');
  return RESERVED_NAMES.includes(first);
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

/** It travels as a header. */
function isIdempotencyKey(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > LONGEST_IDEMPOTENCY_KEY_CHARS) return false;
  return /^[\x21-\x7e]+$/.test(value);
}

/** Whether the worker may call it is the worker's decision. A user and a password would not be sent. */
function isCallbackUrl(value: unknown): boolean {
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

/** The check of one field, and the sentence that follows its name when the check fails. */
export interface FieldRule {
  accepts: (value: unknown) => boolean;
  sentence: string;
}

export type FieldRules = Record<string, FieldRule>;

export const DURATION: FieldRule = {
  accepts: (value) => durationMs(value) !== undefined,
  sentence: 'must be milliseconds or a duration such as "90s", "30m" or "2h"',
};

export const oneOf = (values: readonly string[]): FieldRule => ({
  accepts: (value) => values.some((known) => known === value),
  sentence: `must be one of ${values.join(', ')}`,
});

function isPolling(value: unknown): boolean {
  if (!isObjectOf(value, { min: DURATION, max: DURATION })) return false;
  return (durationMs(value.min) ?? 0) <= (durationMs(value.max) ?? Number.POSITIVE_INFINITY);
}

const isCap = (value: unknown) => isObjectOf(value, CAP_FIELDS);

function isSharedCap(value: unknown): boolean {
  return isRecord(value) && isWorkflowId(value.name) && isCap(value.cap);
}

/**
 * The rule of every field of a job but its request. Callers and workflows check it, because any SDK can start a job without
 * our client.
 */
export const JOB_FIELDS = {
  taskId: { accepts: isTaskId, sentence: TASK_ID_RULE },
  deadline: DURATION,
  storage: { accepts: isStorageKey, sentence: STORAGE_RULE },
  polling: {
    accepts: isPolling,
    sentence: 'must be like { "min": "2s", "max": "1m" }, with a min that is not longer than the max',
  },
  onLostSubmit: oneOf(LOST_SUBMIT_POLICIES),
  holdFor: DURATION,
  idempotencyKey: {
    accepts: isIdempotencyKey,
    sentence: `must be 1 to ${LONGEST_IDEMPOTENCY_KEY_CHARS} printable ASCII characters without spaces`,
  },
  callbackUrl: {
    accepts: isCallbackUrl,
    sentence: `must be an http(s) URL of at most ${LONGEST_CALLBACK_URL_CHARS} ASCII characters without a user and a password`,
  },
  cap: {
    accepts: isCap,
    sentence: 'must be like { "videos": 3, "seconds": 30, "money": { "amount": 2.5, "currency": "USD" } }',
  },
  sharedCap: { accepts: isSharedCap, sentence: 'must be the name of a cap and the cap' },
  caller: { accepts: isCaller, sentence: CALLER_RULE },
  service: { accepts: isServiceName, sentence: SERVICE_NAME_RULE },
  submitWithin: DURATION,
} satisfies Record<Exclude<keyof JobInput, 'request'>, FieldRule>;

/** The rules of the fields that only a job with several services has. */
export const FALLBACK_FIELDS = {
  services: { accepts: isServiceList, sentence: SERVICES_RULE },
  fallbackAfter: DURATION,
} satisfies Record<Exclude<keyof FallbackInput, keyof JobInput>, FieldRule>;

/** Requests are checked by themselves, against what their service accepts. */
const REQUEST: FieldRule = { accepts: () => true, sentence: '' };
const ALL_JOB_FIELDS: FieldRules = { request: REQUEST, ...JOB_FIELDS, ...FALLBACK_FIELDS };

/** What is wrong with the input of a job, its request apart. As for `fieldProblems`, callers name an owner and workflows do not. */
export function jobProblems(input: Partial<Record<string, unknown>>, owner?: 'a job'): string[] {
  const wrong = fieldProblems(input, ALL_JOB_FIELDS, owner);
  if (wrong.length > 0) return wrong;
  if ((input.request == null) === (input.taskId == null))
    return ['a job needs either a request or the taskId of a task to adopt, not both'];
  return [choiceProblem(input) ?? []].flat();
}

/**
 * Every field that breaks its rule, as a sentence. Null counts as absent: some SDKs send it for an unset field. With an owner,
 * whose fields they are, unknown names are refused too.
 */
export function fieldProblems(input: object, rules: FieldRules, owner?: string): string[] {
  const problems = Object.entries(rules).flatMap(([name, { accepts, sentence }]) => {
    const value: unknown = Reflect.get(input, name);
    return value == null || accepts(value) ? [] : [`${name} ${sentence}`];
  });
  const unknown = owner === undefined ? [] : Object.keys(input).filter((name) => !Object.hasOwn(rules, name));
  if (unknown.length === 0) return problems;
  const fields = Object.keys(rules).join(', ');
  return [...problems, `${describeNames(unknown)}: not a field of ${owner}; the fields are ${fields}`];
}

function isObjectOf(value: unknown, rules: FieldRules): value is Record<string, unknown> {
  return isRecord(value) && fieldProblems(value, rules, 'it').length === 0;
}

/** Why a decision about a lost submit cannot be taken; undefined when it can. */
export function decisionProblem(given: unknown): string | undefined {
  const { decision, taskId, lostSubmit }: Partial<Record<string, unknown>> = Object(given);
  if (lostSubmit != null && typeof lostSubmit !== 'string')
    return 'lostSubmit must be the id of a lost submit';
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
