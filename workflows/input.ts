import type { ApplicationFailure } from '@temporalio/workflow';
import { FALLBACK_FIELDS, isWorkflowId, jobProblems, WORKFLOW_ID_RULE } from '../src/contract/input-rules';
import type { FallbackInput, VideoInput } from '../src/contract/job';
import { childName } from '../src/contract/names';
import { requestSizeProblem } from '../src/contract/sizes';
import { createFailure } from '../src/contract/video-failure';

// Any SDK can start these workflows without our client, so a bad input must fail here with a clear sentence. Null counts as
// absent: some languages send it for a field that is not set.

export function checkInput(input: VideoInput | null | undefined, name: string): asserts input is VideoInput {
  const { request }: Partial<VideoInput> = Object(input);
  refuseIf(
    ...jobProblems(Object(input)),
    request != null && requestSizeProblem(Object(request)),
    nameProblem('the name of a job', name),
  );
}

export function checkFallbackInput(
  input: FallbackInput | null | undefined,
  name: string,
): asserts input is FallbackInput {
  checkInput(input, name);
  refuseIf(
    input.services == null && `services ${FALLBACK_FIELDS.services.sentence}`,
    ...(input.services ?? []).map((service) =>
      nameProblem('the name of the job at a service', childName(name, service)),
    ),
  );
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
