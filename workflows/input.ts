import type { ApplicationFailure } from '@temporalio/workflow';
import { type BatchInput, ON_FAILURE } from '../src/contract/batch';
import { BATCH_STORAGE_RULE, isBatchStorage, isWindow, WINDOW_RULE } from '../src/contract/batch-rules';
import { durationMs } from '../src/contract/duration';
import { createFailure } from '../src/contract/failures';
import * as rules from '../src/contract/input-rules';
import { FILE_KEY_RULE, isFileKey } from '../src/contract/input-rules';
import type { JobInput, JobOptions, PollBounds } from '../src/contract/job';
import { DEFAULT_DEADLINE_MS, DEFAULT_HOLD_MS } from '../src/contract/policies';
import { requestSizeProblem, requestsSizeProblem } from '../src/contract/sizes';
import { DEFAULT_MAX_MS, DEFAULT_MIN_MS, LEAST_MIN_MS } from './poll-schedule';

/** The times of a job, in milliseconds. */
export interface JobTimes {
  deadlineMs: number;
  holdMs: number;
}

/** The rule of each field, checked when the field is set. */
const RULES: [
  name: string,
  read: (input: JobInput) => unknown,
  keeps: (value: unknown) => boolean,
  rule: string,
][] = [
  ['taskId', (input) => input.taskId, rules.isTaskId, rules.TASK_ID_RULE],
  ['storage', (input) => input.storage, rules.isStorageKey, rules.STORAGE_RULE],
  ['onLostSubmit', (input) => input.onLostSubmit, rules.isLostSubmitPolicy, rules.LOST_SUBMIT_RULE],
  ['idempotencyKey', (input) => input.idempotencyKey, rules.isIdempotencyKey, rules.IDEMPOTENCY_KEY_RULE],
  ['queues.submit', (input) => input.queues?.submit, rules.isQueueName, rules.QUEUE_RULE],
  ['queues.download', (input) => input.queues?.download, rules.isQueueName, rules.QUEUE_RULE],
  ['keepBad', (input) => input.keepBad, rules.isFlag, rules.FLAG_RULE],
];

/**
 * Any SDK can start this workflow without our client, so a bad input must fail here with a clear sentence. Null counts as
 * absent: some languages send it for a field that is not set.
 */
export function checkInput(input: JobInput | null | undefined): asserts input is JobInput {
  if (input == null || (input.request == null) === (input.taskId == null)) {
    throw refused('a job needs either a request or the taskId of a task to adopt, and not both');
  }
  for (const [name, read, keeps, rule] of RULES) {
    const value = read(input);
    if (value != null && !keeps(value)) throw refused(`${name} ${rule}`);
  }
  const tooLarge = input.request == null ? undefined : requestSizeProblem(Object(input.request));
  if (tooLarge !== undefined) throw refused(tooLarge);
  pollingOf(input);
  timesOf(input);
}

export function timesOf({ deadline, holdFor }: JobOptions): JobTimes {
  return {
    deadlineMs: readDuration('deadline', deadline ?? DEFAULT_DEADLINE_MS),
    holdMs: readDuration('holdFor', holdFor ?? DEFAULT_HOLD_MS),
  };
}

/** The shortest and longest pause between two polls: the job's own, else the service profile's, else the default. */
export function pollingOf({ polling }: JobOptions, service: PollBounds = {}): { min: number; max: number } {
  const min = readDuration('polling.min', polling?.min ?? service.min ?? DEFAULT_MIN_MS);
  const max = readDuration('polling.max', polling?.max ?? service.max ?? DEFAULT_MAX_MS);
  // A minimum above the default maximum raises the maximum.
  return { min: Math.max(min, LEAST_MIN_MS), max: Math.max(min, max, LEAST_MIN_MS) };
}

function readDuration(name: string, value: unknown): number {
  const ms = durationMs(value);
  if (ms !== undefined) return ms;
  throw refused(`${name} must be milliseconds or a length of time such as "90s"`);
}

export function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}

export function checkBatchInput(input: BatchInput | null | undefined): void {
  if (input == null || (input.requests == null) === (input.requestsFrom == null)) {
    throw refused('a batch needs either requests or requestsFrom, and not both');
  }
  const { requests, requestsFrom, window, onFailure, ...options } = input;
  if (requests != null && !(Array.isArray(requests) && requests.length > 0)) {
    throw refused('requests must be a list with one request at least');
  }
  const tooLarge = requests == null ? undefined : requestsSizeProblem(requests);
  if (tooLarge !== undefined) throw refused(tooLarge);
  if (requestsFrom != null && !isFileKey(requestsFrom)) throw refused(`requestsFrom ${FILE_KEY_RULE}`);
  if (window != null && !isWindow(window)) throw refused(`window ${WINDOW_RULE}`);
  if (onFailure != null && !ON_FAILURE.includes(onFailure)) {
    throw refused(`onFailure must be one of ${ON_FAILURE.join(', ')}`);
  }
  if ('idempotencyKey' in options && options.idempotencyKey != null) {
    throw refused('idempotencyKey is for one job, and each item of a batch has its own');
  }
  checkInput({ ...options, taskId: 'any' });
  if (!isBatchStorage(options.storage)) throw refused(`storage ${BATCH_STORAGE_RULE}`);
}
