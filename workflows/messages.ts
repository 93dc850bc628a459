import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import { LONGEST_MESSAGE_CHARS } from '../src/contract/failure-details';
import { decisionProblem } from '../src/contract/input-rules';
import type { JobProgress, VideoInput } from '../src/contract/job';
import { describeConflict, identityOf, type JobIdentity } from '../src/contract/job-identity';
import { DECISION_REFUSED, type SubmitDecision } from '../src/contract/lost-submit';
import {
  DECIDE_SUBMIT_UPDATE,
  POLL_NOW_SIGNAL,
  PROGRESS_QUERY,
  WAIT_FOR_TASK_UPDATE,
} from '../src/contract/names';
import { ADOPT_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import { createFailure, describeEvent, readFailure, VideoFailure } from '../src/contract/video-failure';
import type { Job } from './job';

/** Query: the progress of a job. */
export const progress = defineQuery<JobProgress>(PROGRESS_QUERY);
/** Update: waits for the task id of a job. */
export const waitForTask = defineUpdate<string, [identity?: JobIdentity]>(WAIT_FOR_TASK_UPDATE);
/** Update: settles the lost submit of a job. */
export const decideSubmit = defineUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE);
/** Signal: has a job poll its task now. */
export const pollNow = defineSignal(POLL_NOW_SIGNAL);

/** Handles the messages that a running job accepts. */
export function answerMessages(job: Job): void {
  setHandler(progress, () => job.progress(), { description: 'Returns the phase and progress of the job' });
  setHandler(
    pollNow,
    () => {
      job.known.pollRequested = true;
    },
    { description: 'Polls the task now instead of at the next poll' },
  );
  answerWaitForTask(job);
  setHandler(decideSubmit, (decision) => takeDecision(job, decision), {
    description: 'Decides on a lost submit: adopt (with the taskId), resubmit or abandon',
    validator: (decision) => checkDecision(job, decision),
  });
}

interface AwaitedTask {
  input: VideoInput;
  /** Undefined while there is neither. */
  taskOrFailure(): string | ApplicationFailure | undefined;
}

/** Temporal accepts ten updates at a time: callers that waited through a hold would block the decision. */
export function answerWaitForTask(job: AwaitedTask): void {
  setHandler(
    waitForTask,
    async () => {
      let found = job.taskOrFailure();
      // Waits through a cancellation: a request that was already sent may still return a task.
      await CancellationScope.nonCancellable(() =>
        condition(() => {
          found = job.taskOrFailure();
          return found !== undefined;
        }),
      );
      if (typeof found === 'string') return found;
      throw found;
    },
    {
      description: 'Returns the task id as soon as there is one; fails while the job waits for a decision',
      // The caller says what it asks for, so that it never gets the task of another request.
      validator: (identity?: JobIdentity) => {
        const conflict = identity && describeConflict('this', identityOf(job.input), identity);
        if (conflict) throw createFailure('InvalidRequest', conflict);
        // A refusal by the validator is not in the history and does not count as an update.
        const found = job.taskOrFailure();
        if (found !== undefined && typeof found !== 'string') throw found;
      },
    },
  );
}

function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(cleanText(message, LONGEST_MESSAGE_CHARS), DECISION_REFUSED);
}

/** Refuses a malformed decision, or one that no lost submit waits for. */
function checkDecision({ hold, phase }: Job, decision: SubmitDecision): void {
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
  if (!hold.needsDecision) {
    const why = hold.decided ? 'somebody has already decided' : `the job is ${phase}`;
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
async function takeDecision(job: Job, decision: SubmitDecision): Promise<void> {
  const { hold } = job;
  while (hold.isAdopting) await CancellationScope.nonCancellable(() => condition(() => !hold.isAdopting));
  checkDecision(job, decision);
  const task = decision.decision === 'adopt' ? await adopt(job, decision.taskId) : undefined;
  checkDecision(job, decision);
  hold.decided = { decision, ...(task && { task }) };
}

/** The task is polled first: a mistyped id would fail the job. */
async function adopt(job: Job, taskId: string): Promise<SubmittedTask> {
  const { adoptTask } = proxyActivities<VideoActivities>({
    ...ADOPT_POLICY,
    summary: `${describeTask(taskId)}, to adopt it`,
  });
  const { request, caller } = job.input;
  const { service } = job.known;
  job.hold.isAdopting = true;
  try {
    return await adoptTask({ taskId, service, request, caller, isPolled: true });
  } catch (error) {
    throw decisionRefused(whyNotAdopted(taskId, error));
  } finally {
    job.hold.isAdopting = false;
  }
}

function whyNotAdopted(taskId: string, error: unknown): string {
  const refused = `Task ${JSON.stringify(taskId)} is not adopted`;
  if (isCancellation(error)) return `${refused}: the job was cancelled.`;
  const { type, details } = readFailure(error) ?? new VideoFailure('ServiceUnreachable');
  switch (type) {
    case 'TaskUnknown':
      return `${refused}: the service does not know it. Check the task id, and that the worker's API key belongs to the account that submitted it. The job stays held.`;
    case 'InvalidRequest':
      return `${refused}: ${details.message}. The job stays held.`;
    default:
      return `${refused}, because polling it failed: ${describeEvent(type, details)} The job stays held; decide again.`;
  }
}
