import { CancellationScope, proxyActivities, sleep } from '@temporalio/workflow';
import type { AwaitJobsInput, JobEnd } from '../../activities/batch/await-jobs';

export interface JoinActivities {
  /** Those of the jobs that have ended, at once. */
  joinNow(input: AwaitJobsInput): Promise<JobEnd[]>;
}

const SHORTEST_TURN_MS = 60_000;

const { joinNow } = proxyActivities<JoinActivities>({ startToCloseTimeout: '1m' });

/**
 * Instead of the activity that waits for jobs: the test server skips no time while an activity runs, so that the jobs would never
 * end. So it looks, sleeps and looks again. Nothing is cancelled on the server, which breaks a workflow that cancels what has
 * just ended.
 */
export async function joinInTurns(input: AwaitJobsInput, deadlineMs: number): Promise<JobEnd[]> {
  let isGivenUp = false;
  const { cancelRequested } = CancellationScope.current();
  cancelRequested.catch(() => {
    isGivenUp = true;
  });
  const joined = CancellationScope.nonCancellable(async () => {
    for (;;) {
      const ends = await joinNow(input);
      if (ends.length > 0 || isGivenUp) return ends;
      await sleep(Math.max(SHORTEST_TURN_MS, deadlineMs / 4));
      if (isGivenUp) return [];
    }
  });
  return Promise.race([joined, cancelRequested]);
}
