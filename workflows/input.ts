import type { ApplicationFailure } from '@temporalio/workflow';
import type { BatchInput } from '../src/contract/batch';
import { continueFromProblem } from '../src/contract/continue-from';
import { durationMs } from '../src/contract/duration';
import {
  BATCH_FIELDS,
  BATCH_SOURCE_RULE,
  BATCH_STORAGE_RULE,
  batchOptionProblem,
  DURATION_RULE,
  fieldProblem,
  isBatchStorage,
  isPollsPerSecondSaved,
  JOB_FIELDS,
  JOB_SOURCE_RULE,
} from '../src/contract/input-rules';
import type { JobInput, JobOptions, ServicePolling } from '../src/contract/job';
import { DEFAULT_DEADLINE_MS, DEFAULT_HOLD_MS } from '../src/contract/policies';
import { choiceProblem } from '../src/contract/service-choice';
import { requestSizeProblem, requestsSizeProblem } from '../src/contract/sizes';
import { createFailure } from '../src/contract/video-failure';
import {
  DEFAULT_MAX_MS,
  DEFAULT_MIN_MS,
  DEFAULT_POLLS_PER_SECOND_SAVED,
  LEAST_MIN_MS,
  type PollRules,
} from './poll-schedule';

/** The times of a job, in milliseconds. */
export interface JobTimes {
  deadlineMs: number;
  holdMs: number;
}

/**
 * Any SDK can start this workflow without our client, so a bad input must fail here with a clear sentence. Null counts as
 * absent: some languages send it for a field that is not set.
 */
export function checkInput(input: JobInput | null | undefined): asserts input is JobInput {
  if (input == null || (input.request == null) === (input.taskId == null)) {
    throw refused(JOB_SOURCE_RULE);
  }
  const problem =
    fieldProblem(input, JOB_FIELDS) ??
    continueFromProblem(input) ??
    choiceProblem(input) ??
    (input.request == null ? undefined : requestSizeProblem(Object(input.request)));
  if (problem !== undefined) throw refused(problem);
}

export function timesOf({ deadline, holdFor }: JobOptions): JobTimes {
  return {
    deadlineMs: readDuration('deadline', deadline ?? DEFAULT_DEADLINE_MS),
    holdMs: readDuration('holdFor', holdFor ?? DEFAULT_HOLD_MS),
  };
}

/** The job's own rules for its polls, else those of the worker for this service, else the default. */
export function pollingOf({ polling }: JobOptions, service: ServicePolling = {}): PollRules {
  const min = readDuration('polling.min', polling?.min ?? service.min ?? DEFAULT_MIN_MS);
  const max = readDuration('polling.max', polling?.max ?? service.max ?? DEFAULT_MAX_MS);
  // A minimum above the default maximum raises the maximum.
  return {
    min: Math.max(min, LEAST_MIN_MS),
    max: Math.max(min, max, LEAST_MIN_MS),
    pollsPerSecondSaved:
      [polling?.pollsPerSecondSaved, service.pollsPerSecondSaved].find(isPollsPerSecondSaved) ??
      DEFAULT_POLLS_PER_SECOND_SAVED,
  };
}

function readDuration(name: string, value: unknown): number {
  const ms = durationMs(value);
  if (ms !== undefined) return ms;
  throw refused(`${name} ${DURATION_RULE}`);
}

export function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}

export function checkBatchInput(input: BatchInput | null | undefined): void {
  if (input == null || (input.requests == null) === (input.requestsFrom == null)) {
    throw refused(BATCH_SOURCE_RULE);
  }
  const { requests, requestsFrom: _from, window: _window, onFailure: _onFailure, ...options } = input;
  const problem =
    fieldProblem(input, BATCH_FIELDS) ??
    (requests == null ? undefined : requestsSizeProblem(requests)) ??
    batchOptionProblem(options);
  if (problem !== undefined) throw refused(problem);
  checkInput({ ...options, request: { prompt: 'any' } });
  if (!isBatchStorage(options.storage)) throw refused(`storage ${BATCH_STORAGE_RULE}`);
}
