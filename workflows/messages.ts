import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { createFailure } from '../src/contract/failures';
import type { JobProgress } from '../src/contract/job';
import { LOOK_NOW_SIGNAL, PROGRESS_QUERY, WAIT_FOR_TASK_UPDATE } from '../src/contract/names';
import type { JobState } from './job-state';

export const progress = defineQuery<JobProgress>(PROGRESS_QUERY);
export const waitForTask = defineUpdate<string>(WAIT_FOR_TASK_UPDATE);
export const lookNow = defineSignal(LOOK_NOW_SIGNAL);

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
    waitForTask,
    async () => {
      // A cancellation does not end the wait: the job still learns how a request that has left was answered.
      await CancellationScope.nonCancellable(() =>
        condition(() => job.taskId !== undefined || job.failure !== undefined),
      );
      if (job.taskId !== undefined) return job.taskId;
      throw createFailure(job.failure?.type ?? 'Cancelled', job.failure?.details);
    },
    { description: 'Answers with the task id as soon as there is one' },
  );
}
