import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../activities';
import { CANCEL_POLICY } from '../src/contract/policies';
import { describeTask } from '../src/contract/summaries';
import type { JobState } from './job-state';

const TOLD = {
  asked: 'The service was told to cancel the task.',
  refused: 'The service refused to cancel the task and may go on with it.',
  unreachable: 'The service could not be told to cancel the task and may go on with it.',
  'not-offered': 'The service has no call to cancel a task and may go on with it.',
};

/** Has a task cancelled that nobody waits for any longer, if it can be; answers with a sentence for people. */
export async function cancelAtService(job: JobState): Promise<string | undefined> {
  const { taskId } = job;
  if (taskId === undefined || !job.isWaiting) return undefined;
  const { cancelVideo } = proxyActivities<VideoActivities>({
    ...CANCEL_POLICY,
    ...job.activityId('cancel'),
    summary: job.titled(describeTask(taskId)),
  });
  return CancellationScope.nonCancellable(async () => {
    const answer = await cancelVideo({ taskId }).catch(() => 'unreachable' as const);
    return TOLD[answer];
  });
}
