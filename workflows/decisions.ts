import {
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import { decisionProblem, isDecisionId } from '../src/contract/input-rules';
import { commandOn } from '../src/contract/job-commands';
import type { SubmitDecision } from '../src/contract/lost-submit';
import { DECISION_REFUSED, describeRefusal } from '../src/contract/lost-submit';
import { ADOPT_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { createFailure, describeEvent, readFailure, type VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';
import { measureHold, measureHoldEnd } from './measure';
import { notifyReceiver } from './notify';

/** Holds the job until somebody decides. Returns the task to adopt, or undefined to submit once more. */
export async function waitForDecision(job: Job, lostSubmit: VideoFailure): Promise<string | undefined> {
  const { hold } = job;
  // A hold that the run before carried over is counted already.
  if (hold.lostSubmit === undefined) measureHold();
  const holdMs = hold.start(lostSubmit);
  job.enter('needs-decision');
  logJob(job, 'held', {
    ...lostSubmit.details,
    heldUntil: hold.progress()?.until,
    decide: `${decisionCommand(job)} (or --resubmit, or --abandon)`,
  });
  // Not awaited: the hold runs from its start, whatever becomes of the webhook.
  void notifyReceiver(job, 'video.needs_decision');
  try {
    await condition(() => hold.decision !== undefined, holdMs, {
      summary: 'for a decision: adopt, resubmit or abandon',
    });
    // A decision that arrived in time may still be polling the task it wants to adopt.
    await condition(() => hold.decision !== undefined || hold.pendingDecisions === 0);
  } catch (error) {
    hold.end();
    if (isCancellation(error)) measureHoldEnd('cancelled');
    // A cancellation must not hide that a task may exist.
    throw isCancellation(error) ? withEnd(lostSubmit, 'the job was cancelled before anybody decided') : error;
  }
  const decided = hold.end();
  measureHoldEnd(decided?.decision ?? 'expired');
  if (decided) logJob(job, 'decided', decided);
  switch (decided?.decision) {
    case 'adopt':
      return decided.taskId;
    case 'resubmit':
      return undefined;
    case 'abandon':
      throw withEnd(lostSubmit, 'abandoned by decision');
    case undefined:
      throw withEnd(lostSubmit, `nobody decided within ${describeDuration(holdMs)}`);
  }
}

function decisionCommand({ host: { item } }: Job): string {
  const option = item === undefined ? '' : `--item ${item} `;
  return commandOn('decide', workflowInfo().workflowId, `${option}--adopt TASK_ID`);
}

function withEnd({ details }: VideoFailure, end: string): ApplicationFailure {
  const message = [details.message, end].filter(Boolean).join('; ');
  return createFailure('SubmitUnconfirmed', { ...details, message });
}

export function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(describeRefusal(message), DECISION_REFUSED);
}

/** Refuses a malformed decision, or one that no lost submit waits for. */
export function checkDecision(job: Job, decision: unknown): void {
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
  if (!job.hold.needsDecision) throw decisionRefused(`No decision is needed: ${job.whyNoDecision()}.`);
}

/**
 * Takes a decision about a lost submit, or throws why not. One at a time: otherwise a `resubmit` could arrive while an
 * `adopt` polls its task, and the request would be sent again although the task was just found.
 */
export async function takeDecision(job: Job, decision: SubmitDecision): Promise<void> {
  const { hold } = job;
  hold.pendingDecisions++;
  try {
    while (hold.isPollingCandidate) {
      await CancellationScope.nonCancellable(() => condition(() => !hold.isPollingCandidate));
    }
    checkDecision(job, decision);
    if (decision.decision === 'adopt') {
      await pollCandidate(job, decision.taskId);
      checkDecision(job, decision);
    }
    hold.decision = decision;
  } finally {
    hold.pendingDecisions--;
  }
}

/** Takes a decision that came as a signal. A signal has no reply, so the job's progress and details show a refusal. */
export async function takeSignalled(job: Job, decision: SubmitDecision, id: unknown): Promise<void> {
  const known = isDecisionId(id) ? { id } : {};
  try {
    checkDecision(job, decision);
    await takeDecision(job, decision);
    job.recordSignalled(known);
  } catch (error) {
    if (!(error instanceof ApplicationFailure && error.type === DECISION_REFUSED)) throw error;
    logJob(job, 'decisionRefused', { reason: error.message });
    job.recordSignalled({ ...known, refused: error.message });
  }
}

/** Polls a task before it is adopted: a mistyped id would fail the job. */
async function pollCandidate(job: Job, taskId: string): Promise<void> {
  const { pollVideo } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    ...job.activityId('adopt'),
    summary: job.titled(`${describeTask(taskId)}, to adopt it`),
  });
  job.hold.isPollingCandidate = true;
  try {
    await pollVideo({ taskId, ...job.forService });
  } catch (error) {
    throw decisionRefused(whyNotAdopted(taskId, error));
  } finally {
    job.hold.isPollingCandidate = false;
  }
}

function whyNotAdopted(taskId: string, error: unknown): string {
  const task = JSON.stringify(taskId);
  if (isCancellation(error)) return `Task ${task} is not adopted: the job was cancelled.`;
  const failure = readFailure(error);
  if (failure?.type === 'TaskUnknown') {
    return `Task ${task} is not adopted: the service does not know it. Check the task id, and that the worker's API key belongs to the account that submitted it. The job stays held.`;
  }
  const reason = failure
    ? describeEvent(failure.type, failure.details)
    : 'the service did not answer in time.';
  return `Task ${task} is not adopted, because polling it failed: ${reason} The job stays held; decide again.`;
}
