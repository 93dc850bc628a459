import {
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  log,
  proxyActivities,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { describeEvent, readFailure } from '../src/contract/failures';
import { decisionProblem, isDecisionId } from '../src/contract/input-rules';
import type { SubmitDecision } from '../src/contract/lost-submit';
import { DECISION_REFUSED, describeRefusal } from '../src/contract/lost-submit';
import { ADOPT_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import type { Job } from './job';

export function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(describeRefusal(message), DECISION_REFUSED);
}

/** Refuses what can be refused at once: a decision that is none, or that nobody waits for. */
export function checkDecision(job: Job, decision: unknown): void {
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
  if (!job.wantsDecision) throw decisionRefused(`No decision is wanted: ${job.standing()}.`);
}

/**
 * Takes a decision about a lost submit, or throws why not. They are taken one after the other: whoever decides while a
 * task is looked up would otherwise send the request again for a task that has just been found.
 */
export async function takeDecision(job: Job, decision: SubmitDecision): Promise<void> {
  job.deciding++;
  try {
    while (job.lookingUp) await CancellationScope.nonCancellable(() => condition(() => !job.lookingUp));
    checkDecision(job, decision);
    if (decision.decision === 'adopt') {
      await lookUp(job, decision.taskId);
      checkDecision(job, decision);
    }
    job.decision = decision;
  } finally {
    job.deciding--;
  }
}

/** A decision that came as a signal: nobody is there to be refused, so the job's details and its progress tell. */
export async function takeSignalled(job: Job, decision: SubmitDecision, id: unknown): Promise<void> {
  const known = isDecisionId(id) ? { id } : {};
  try {
    checkDecision(job, decision);
    await takeDecision(job, decision);
    job.recordSignalled(known);
  } catch (error) {
    if (!(error instanceof ApplicationFailure && error.type === DECISION_REFUSED)) throw error;
    log.warn('a decision by signal was refused', { reason: error.message });
    job.recordSignalled({ ...known, refused: error.message });
  }
}

/** A task that is adopted must be there: with a mistyped id the job would end, and its name with it. */
async function lookUp(job: Job, taskId: string): Promise<void> {
  const { pollVideo } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    ...job.activityId('adopt'),
    summary: job.titled(`${describeTask(taskId)}, to adopt it`),
  });
  job.lookingUp = true;
  try {
    await pollVideo({ taskId });
  } catch (error) {
    throw decisionRefused(whyNotAdopted(taskId, error));
  } finally {
    job.lookingUp = false;
  }
}

function whyNotAdopted(taskId: string, error: unknown): string {
  const task = JSON.stringify(taskId);
  if (isCancellation(error)) return `Task ${task} is not adopted: the job was cancelled.`;
  const failure = readFailure(error);
  if (failure?.type === 'TaskUnknown') {
    return `Task ${task} is not adopted: the service does not know it. Check the task id, and that the worker's API key belongs to the account that submitted it; the job is held on.`;
  }
  const reason = failure
    ? describeEvent(failure.type, failure.details)
    : 'the service did not answer in time.';
  return `Task ${task} is not adopted, because it could not be looked up: ${reason} The job is held on; decide again.`;
}
