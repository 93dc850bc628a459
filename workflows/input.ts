import type { ApplicationFailure } from '@temporalio/workflow';
import type { BatchInput } from '../src/contract/batch';
import { durationMs } from '../src/contract/duration';
import { createFailure } from '../src/contract/failures';
import {
  BATCH_FIELDS,
  BATCH_KEY_RULE,
  BATCH_SOURCE_RULE,
  BATCH_STORAGE_RULE,
  DURATION_RULE,
  fieldProblem,
  isBatchStorage,
  JOB_FIELDS,
  JOB_SOURCE_RULE,
} from '../src/contract/input-rules';
import type { JobInput, JobOptions, PollBounds } from '../src/contract/job';
import { DEFAULT_DEADLINE_MS, DEFAULT_HOLD_MS } from '../src/contract/policies';
import { requestSizeProblem, requestsSizeProblem } from '../src/contract/sizes';
import { DEFAULT_MAX_MS, DEFAULT_MIN_MS, LEAST_MIN_MS } from './poll-schedule';

/** The times of a job, in milliseconds. */
export interface JobTimes {
  deadlineMs: number;
  holdMs: number;
}

/**
 * A job may be started by any SDK or by hand, past every door that parses: what is wrong ends it with a sentence. Null
 * counts as absent, as some languages send it for what was not set.
 */
export function checkInput(input: JobInput | null | undefined): asserts input is JobInput {
  if (input == null || (input.request == null) === (input.taskId == null)) {
    throw refused(JOB_SOURCE_RULE);
  }
  const problem =
    fieldProblem(input, JOB_FIELDS) ??
    (input.request == null ? undefined : requestSizeProblem(Object(input.request)));
  if (problem !== undefined) throw refused(problem);
}

export function timesOf({ deadline, holdFor }: JobOptions): JobTimes {
  return {
    deadlineMs: readDuration('deadline', deadline ?? DEFAULT_DEADLINE_MS),
    holdMs: readDuration('holdFor', holdFor ?? DEFAULT_HOLD_MS),
  };
}

/** The bounds of the pause between two looks: the job's own, or else the service's, or else the usual ones. */
export function pollingOf({ polling }: JobOptions, service: PollBounds = {}): { min: number; max: number } {
  const min = readDuration('polling.min', polling?.min ?? service.min ?? DEFAULT_MIN_MS);
  const max = readDuration('polling.max', polling?.max ?? service.max ?? DEFAULT_MAX_MS);
  // Whoever asks for a longer pause than the usual longest one means it.
  return { min: Math.max(min, LEAST_MIN_MS), max: Math.max(min, max, LEAST_MIN_MS) };
}

function readDuration(name: string, value: unknown): number {
  const ms = durationMs(value);
  if (ms !== undefined) return ms;
  throw refused(`${name} ${DURATION_RULE}`);
}

/** Of what is wrong with a job itself, whoever asked for it. */
export function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}

/** A batch may be started by any SDK, past every door that parses: what is wrong ends it with a sentence. */
export function checkBatchInput(input: BatchInput | null | undefined): void {
  if (input == null || (input.requests == null) === (input.requestsFrom == null)) {
    throw refused(BATCH_SOURCE_RULE);
  }
  const { requests, requestsFrom: _from, window: _window, onFailure: _onFailure, ...options } = input;
  const problem =
    fieldProblem(input, BATCH_FIELDS) ?? (requests == null ? undefined : requestsSizeProblem(requests));
  if (problem !== undefined) throw refused(problem);
  if ('idempotencyKey' in options && options.idempotencyKey != null) throw refused(BATCH_KEY_RULE);
  checkInput({ ...options, taskId: 'any' });
  if (!isBatchStorage(options.storage)) throw refused(`storage ${BATCH_STORAGE_RULE}`);
}
