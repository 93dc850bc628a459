import type { ApplicationFailure } from '@temporalio/workflow';
import { childName, FALLBACK_FIELDS, type FallbackInput } from '../src/contract/fallback';
import {
  fieldProblem,
  isWorkflowId,
  JOB_FIELDS,
  JOB_SOURCE_RULE,
  WORKFLOW_ID_RULE,
} from '../src/contract/input-rules';
import type { JobInput } from '../src/contract/job';
import { choiceProblem } from '../src/contract/service-choice';
import { requestSizeProblem } from '../src/contract/sizes';
import { createFailure } from '../src/contract/video-failure';

// Any SDK can start these workflows without our client, so a bad input must fail here with a clear sentence. Null counts as
// absent: some languages send it for a field that is not set.

export function checkInput(input: JobInput | null | undefined, name: string): asserts input is JobInput {
  const { request, taskId }: Partial<JobInput> = Object(input);
  refuseIf(
    (request == null) === (taskId == null) && JOB_SOURCE_RULE,
    fieldProblem(Object(input), JOB_FIELDS),
    choiceProblem(Object(input)),
    request != null && requestSizeProblem(Object(request)),
    nameProblem('the name of a job', name),
  );
}

export function checkFallbackInput(
  input: FallbackInput | null | undefined,
  name: string,
): asserts input is FallbackInput {
  const { request, services }: Partial<FallbackInput> = Object(input);
  refuseIf(
    input == null && JOB_SOURCE_RULE,
    fieldProblem(Object(input), FALLBACK_FIELDS),
    choiceProblem(Object(input)),
    services == null && `services ${FALLBACK_FIELDS.services.sentence}`,
    fieldProblem(Object(input), JOB_FIELDS),
    request == null ? JOB_SOURCE_RULE : requestSizeProblem(Object(request)),
  );
  const names = services?.map((service) => childName(name, service)) ?? [];
  refuseIf(...names.map((one) => nameProblem('the name of the job at a service', one)));
}

export function nameProblem(what: string, name: string): string | undefined {
  return isWorkflowId(name) ? undefined : `${what} ${WORKFLOW_ID_RULE}`;
}

/** Throws the first problem. */
export function refuseIf(...problems: (string | false | undefined)[]): void {
  const problem = problems.find((one) => one !== undefined && one !== false);
  if (problem) throw refused(problem);
}

export function refused(message: string): ApplicationFailure {
  return createFailure('InvalidRequest', { message });
}
