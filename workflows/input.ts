import type { ApplicationFailure } from '@temporalio/workflow';
import { durationMs } from '../src/contract/duration';
import { DURATION_RULE, fieldProblem, JOB_FIELDS, JOB_SOURCE_RULE } from '../src/contract/input-rules';
import type { JobInput, JobOptions } from '../src/contract/job';
import { DEFAULT_DEADLINE_MS, DEFAULT_HOLD_MS } from '../src/contract/policies';
import { choiceProblem } from '../src/contract/service-choice';
import { requestSizeProblem } from '../src/contract/sizes';
import { createFailure } from '../src/contract/video-failure';
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

function readDuration(name: string, value: unknown): number {
  const ms = durationMs(value);
  if (ms !== undefined) return ms;
  throw refused(`${name} ${DURATION_RULE}`);
}

export function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}
