import { CancellationScope, isCancellation, log, patched, proxyLocalActivities } from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import { createFailure } from '../src/contract/failures';
import { LOST_SUBMIT_POLICY } from '../src/contract/policies';
import type { JobState } from './job-state';

/**
 * Submits so that a cancellation hides no lost attempt. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and forgets what the attempts before left. So this is read first, and the submit is cancelled then.
 */
export async function tellingIfLost(
  job: JobState,
  submit: () => Promise<SubmittedTask>,
): Promise<SubmittedTask> {
  const { cancelRequested, consideredCancelled } = CancellationScope.current();
  // Throws without having begun.
  if (consideredCancelled) return submit();
  return CancellationScope.nonCancellable(async () => {
    const sending = new CancellationScope();
    const submitted = sending.run(submit);
    const isOver = submitted.then(
      () => true,
      () => true,
    );
    if (await Promise.race([isOver, cancelRequested.catch(() => false)])) return submitted;
    const lost = patched('find-lost-submit') ? await findLost(job) : undefined;
    sending.cancel();
    return submitted.catch((error: unknown) => {
      // An attempt that ran has told more than the cancellation did.
      throw isCancellation(error) && lost !== undefined
        ? createFailure('SubmitUnconfirmed', { message: lost })
        : error;
    });
  });
}

/** A local activity, because it is over at once: a submit that nobody wants any longer may be sent as long as it lasts. */
async function findLost(job: JobState): Promise<string | undefined> {
  const { findLostSubmit } = proxyLocalActivities<VideoActivities>({
    ...LOST_SUBMIT_POLICY,
    summary: job.titled('what a cancelled submit left'),
  });
  try {
    const { lost } = await findLostSubmit(job.activityId('submit'));
    return lost;
  } catch (error) {
    log.warn('it could not be read whether the submit is lost', { error: cleanText(String(error)) });
    return 'it could not be read how its attempts ended';
  }
}
