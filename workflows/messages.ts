import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { createFailure } from '../src/contract/failures';
import { isDownloadProgress } from '../src/contract/input-rules';
import type { JobProgress, ReportedDownload } from '../src/contract/job';
import { describeConflict, type JobIdentity } from '../src/contract/job-identity';
import type { SubmitDecision } from '../src/contract/lost-submit';
import {
  DECIDE_SUBMIT_SIGNAL,
  DECIDE_SUBMIT_UPDATE,
  DOWNLOAD_PROGRESS_SIGNAL,
  POLL_NOW_SIGNAL,
  PROGRESS_QUERY,
  WAIT_FOR_TASK_UPDATE,
} from '../src/contract/names';
import { checkDecision, takeDecision, takeSignalled } from './decisions';
import { refused } from './input';
import type { Job } from './job';

export const progress = defineQuery<JobProgress>(PROGRESS_QUERY);
export const waitForTask = defineUpdate<string, [wanted?: JobIdentity]>(WAIT_FOR_TASK_UPDATE);
export const decideSubmit = defineUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE);
export const decideSubmitSignal = defineSignal<[SubmitDecision, id?: string]>(DECIDE_SUBMIT_SIGNAL);
export const pollNow = defineSignal(POLL_NOW_SIGNAL);
export const downloadProgress = defineSignal<[ReportedDownload]>(DOWNLOAD_PROGRESS_SIGNAL);

/** What others may ask of a job while it runs. */
export function answerMessages(job: Job): void {
  setHandler(progress, () => job.progress(), { description: 'Where the job is' });
  setHandler(
    pollNow,
    () => {
      job.pollRequested = true;
    },
    { description: 'Look at the task now instead of later' },
  );
  setHandler(
    downloadProgress,
    (soFar) => {
      if (isDownloadProgress(soFar)) job.recordDownload(soFar);
    },
    { description: 'Told by a download that takes its time' },
  );
  setHandler(waitForTask, (_wanted?: JobIdentity) => taskOf(job), {
    description:
      'Answers with the task id as soon as there is one; fails while the job is held for a decision',
    // Whoever starts a job or joins it says what for, so that nobody gets another request's task.
    validator: (wanted?: JobIdentity) => {
      const other = wanted && describeConflict('this', job.identity, wanted);
      if (other) throw refused(other);
      // A refusal here is not in the history, and does not count as an update.
      const held = job.heldFailure();
      if (held) throw held;
    },
  });
  setHandler(decideSubmit, (decision) => takeDecision(job, decision), {
    description: 'Settles a lost submit: resubmit, adopt (with the taskId) or abandon',
    validator: (decision) => checkDecision(job, decision),
  });
  setHandler(decideSubmitSignal, (decision, id) => takeSignalled(job, decision, id), {
    description: 'The same for when Temporal takes no more updates; what came of it is in the progress',
  });
}

/** The task id, or why there is none. */
async function taskOf(job: Job): Promise<string> {
  for (;;) {
    // A cancellation does not end the wait: the job still learns how a request that has left was answered.
    await CancellationScope.nonCancellable(() =>
      condition(() => job.taskId !== undefined || job.failure !== undefined || job.wantsDecision),
    );
    if (job.taskId !== undefined) return job.taskId;
    if (job.failure !== undefined) throw createFailure(job.failure.type, job.failure.details);
    // Whoever waited on would keep others from deciding: Temporal takes ten updates at a time.
    const held = job.heldFailure();
    if (held) throw held;
  }
}
