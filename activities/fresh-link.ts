import type { FailureType } from '../src/contract/failure-table';
import type { TaskReading } from '../src/service';
import { failureOf, toFailure } from './to-failure';

/** What it means when the task, asked for its link, is in another state than "succeeded, with a video". */
const WITHOUT_LINK: Record<TaskReading['task']['state'], FailureType> = {
  queued: 'NoVideo',
  running: 'NoVideo',
  unknown: 'NoVideo',
  succeeded: 'NoVideo',
  failed: 'GenerationFailed',
  cancelled: 'GenerationCancelled',
};

/** The link as the service gives it now. Links expire and are secrets: nobody keeps one. */
export async function freshLink(taskId: string, look: () => Promise<TaskReading>): Promise<string> {
  try {
    const { task, said } = await look();
    if (task.state === 'succeeded' && task.videoUrl !== undefined) return task.videoUrl;
    throw failureOf(WITHOUT_LINK[task.state], 'download', { taskId, ...said });
  } catch (error) {
    // A status call's refusals mean what they mean while waiting; how they are retried is the download's matter.
    throw toFailure(error, 'check', { taskId, retryAs: 'download' });
  }
}
