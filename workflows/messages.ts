import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { DECISION_REFUSED, describeRefusal } from '../src/contract/decision-refused';
import { createFailure } from '../src/contract/failures';
import { decisionProblem, isDownloadProgress } from '../src/contract/input-rules';
import type { JobProgress, ToldDownload } from '../src/contract/job';
import type { SubmitDecision } from '../src/contract/lost-submit';
import {
  DECIDE_SUBMIT_UPDATE,
  DOWNLOAD_PROGRESS_SIGNAL,
  LOOK_NOW_SIGNAL,
  PROGRESS_QUERY,
  WAIT_FOR_TASK_UPDATE,
} from '../src/contract/names';
import { describeOther, type WantedVideo } from '../src/contract/wanted-video';
import { refused } from './check-input';
import type { JobState } from './job-state';

export const progress = defineQuery<JobProgress>(PROGRESS_QUERY);
export const waitForTask = defineUpdate<string, [wanted?: WantedVideo]>(WAIT_FOR_TASK_UPDATE);
export const decideSubmit = defineUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE);
export const lookNow = defineSignal(LOOK_NOW_SIGNAL);
export const downloadProgress = defineSignal<[ToldDownload]>(DOWNLOAD_PROGRESS_SIGNAL);

/** What others may ask of a job while it runs. */
export function answerMessages(job: JobState): void {
  setHandler(progress, () => job.progress(), { description: 'Where the job is' });
  setHandler(
    lookNow,
    () => {
      job.lookRequested = true;
    },
    { description: 'Look at the task now instead of later' },
  );
  setHandler(
    downloadProgress,
    (soFar) => {
      if (isDownloadProgress(soFar)) job.downloads(soFar);
    },
    { description: 'Told by a download that takes its time' },
  );
  setHandler(
    waitForTask,
    async (_wanted?: WantedVideo) => {
      // A cancellation does not end the wait: the job still learns how a request that has left was answered.
      await CancellationScope.nonCancellable(() =>
        condition(() => job.taskId !== undefined || job.failure !== undefined),
      );
      if (job.taskId !== undefined) return job.taskId;
      throw createFailure(job.failure?.type ?? 'Cancelled', job.failure?.details);
    },
    {
      description: 'Answers with the task id as soon as there is one',
      // Whoever starts a job or joins it says what for, so that nobody gets another request's task.
      validator: (wanted?: WantedVideo) => {
        const other = wanted && describeOther('this', job.wanted, wanted);
        if (other) throw refused(other);
      },
    },
  );
  setHandler(
    decideSubmit,
    (decision) => {
      job.decision = decision;
    },
    {
      description: 'Settles a lost submit: resubmit, adopt (with the taskId) or abandon',
      validator: (decision) => {
        const problem = decisionProblem(decision);
        if (problem !== undefined) throw decisionRefused(`The decision cannot be taken: ${problem}.`);
        if (!job.wantsDecision) throw decisionRefused(`No decision is wanted: ${job.standing()}.`);
      },
    },
  );
}

export function decisionRefused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(describeRefusal(message), DECISION_REFUSED);
}
