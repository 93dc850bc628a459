import {
  type ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type { VideoInput } from '../src/contract/fallback';
import type { JobProgress } from '../src/contract/job';
import { describeConflict, identityOf, type JobIdentity } from '../src/contract/job-identity';
import type { SubmitDecision } from '../src/contract/lost-submit';
import {
  DECIDE_SUBMIT_UPDATE,
  POLL_NOW_SIGNAL,
  PROGRESS_QUERY,
  WAIT_FOR_TASK_UPDATE,
} from '../src/contract/names';
import { createFailure } from '../src/contract/video-failure';
import { checkDecision, takeDecision } from './hold';
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
      for (;;) {
        // Waits through a cancellation: a request that was already sent may still return a task.
        await CancellationScope.nonCancellable(() => condition(() => job.taskOrFailure() !== undefined));
        const found = job.taskOrFailure();
        if (typeof found === 'string') return found;
        if (found !== undefined) throw found;
      }
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
