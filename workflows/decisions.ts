import {
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { describeDuration } from '../src/contract/duration';
import { decisionProblem } from '../src/contract/input-rules';
import {
  commandOn,
  DECISION_REFUSED,
  describeRefusal,
  type SubmitDecision,
} from '../src/contract/lost-submit';
import { ADOPT_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { createFailure, describeEvent, readFailure, type VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';
import { logJob } from './log-event';
import { measureHold, measureHoldEnd } from './measure';
import { tellParent } from './notify';

/** Holds the job until somebody decides: that it has a task, or to submit once more. Throws when it ends. */
export async function waitForDecision(job: Job, lostSubmit: VideoFailure): Promise<'adopted' | 'submit'> {
  const { hold } = job;
  measureHold();
  hold.start(lostSubmit);
  job.enter('needs-decision');
  logJob(job, 'held', {
    ...lostSubmit.details,
    heldUntil: hold.progress()?.until,
    decide: `${commandOn('decide', job.name, '--adopt TASK_ID')} (or --resubmit, or --abandon)`,
  });
  // Not awaited: the hold runs from its start, whatever becomes of the webhook.
  void job.notifyReceiver('video.needs_decision');
  tellParent({ hold: hold.progress() ?? null });
  try {
    await condition(() => hold.decision !== undefined, hold.holdMs, {
      summary: 'for a decision: adopt, resubmit or abandon',
    });
    // A decision that arrived in time may still be adopting its task.
    await condition(() => hold.decision !== undefined || hold.pendingDecisions === 0);
  } catch (error) {
    hold.end();
    if (isCancellation(error)) measureHoldEnd('cancelled');
    // A cancellation must not hide that a task may exist.
    throw isCancellation(error) ? withEnd(lostSubmit, 'the job was cancelled before anybody decided') : error;
  }
  const decided = hold.end();
  // Whoever started the job sees its end by itself.
  if (decided && decided.decision !== 'abandon') tellParent({ hold: null });
  measureHoldEnd(decided?.decision ?? 'expired');
  if (decided) logJob(job, 'decided', decided);
  switch (decided?.decision) {
    case 'adopt':
      if (hold.adopted) job.recordAdopted(hold.adopted);
      return 'adopted';
    case 'resubmit':
      return 'submit';
    case 'abandon':
      throw withEnd(lostSubmit, 'abandoned by decision');
    case undefined:
      throw withEnd(lostSubmit, `nobody decided within ${describeDuration(hold.holdMs)}`);
  }
}

function withEnd({ details }: VideoFailure, end: string): ApplicationFailure {
  const message = [details.message, end].filter(Boolean).join('; ');
  return createFailure('SubmitUnconfirmed', { ...details, message });
}

function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(describeRefusal(message), DECISION_REFUSED);
}

/** Refuses a malformed decision, or one that no lost submit waits for. */
export function checkDecision(job: Job, decision: SubmitDecision): void {
  const { hold } = job;
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
  if (!hold.needsDecision) {
    const why = hold.decision ? 'somebody has already decided' : `the job is ${job.phase}`;
    throw decisionRefused(`No decision is needed: ${why}.`);
  }
  const { lostSubmit = hold.lostSubmit } = decision;
  if (lostSubmit !== hold.lostSubmit)
    throw decisionRefused('The decision cannot be taken: it is about another lost submit than this one.');
}

/**
 * Takes a decision about a lost submit, or throws why not. One at a time: otherwise a `resubmit` could arrive while an
 * `adopt` polls its task, and the request would be sent again although the task was just found.
 */
export async function takeDecision(job: Job, decision: SubmitDecision): Promise<void> {
  const { hold } = job;
  hold.pendingDecisions++;
  try {
    while (hold.isAdopting) await CancellationScope.nonCancellable(() => condition(() => !hold.isAdopting));
    checkDecision(job, decision);
    if (decision.decision === 'adopt') {
      hold.adopted = await adopt(job, decision.taskId);
      checkDecision(job, decision);
    }
    hold.decision = decision;
  } finally {
    hold.pendingDecisions--;
  }
}

/** The task is polled first: a mistyped id would fail the job. */
async function adopt(job: Job, taskId: string): Promise<SubmittedTask> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    summary: `${describeTask(taskId)}, to adopt it`,
  });
  const { request, caller } = job.input;
  const found = { request: request ?? undefined, caller: caller ?? undefined };
  job.hold.isAdopting = true;
  try {
    return await adoptTask({ taskId, service: job.known.service, ...found, isPolled: true });
  } catch (error) {
    throw decisionRefused(whyNotAdopted(taskId, error));
  } finally {
    job.hold.isAdopting = false;
  }
}

function whyNotAdopted(taskId: string, error: unknown): string {
  const task = JSON.stringify(taskId);
  if (isCancellation(error)) return `Task ${task} is not adopted: the job was cancelled.`;
  const failure = readFailure(error);
  if (failure?.type === 'TaskUnknown') {
    return `Task ${task} is not adopted: the service does not know it. Check the task id, and that the worker's API key belongs to the account that submitted it. The job stays held.`;
  }
  if (failure?.type === 'InvalidRequest')
    return `Task ${task} is not adopted: ${failure.details.message}. The job stays held.`;
  const reason = failure
    ? describeEvent(failure.type, failure.details)
    : 'the service did not answer in time.';
  return `Task ${task} is not adopted, because polling it failed: ${reason} The job stays held; decide again.`;
}
