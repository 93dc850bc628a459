import { isCancellation } from '@temporalio/workflow';
import { readFailure, VideoFailure } from '../src/contract/failures';
import type { Look } from '../src/contract/job';
import type { JobState } from './job-state';

/** One look. A fault while looking never ends a paid job: it is noted, shown, and looked past until the deadline. */
export async function noted(job: JobState, look: () => Promise<Look>): Promise<Look | undefined> {
  try {
    const seen = await look();
    job.looked(seen);
    return seen;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = readFailure(error) ?? new VideoFailure('Unexpected', { message: String(error) });
    job.lookFailed(failure);
    if (failure.type === 'TaskUnknown' && job.taskIsGone()) throw error;
    return undefined;
  }
}
