import {
  type ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  log,
  patched,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { SubmittedTask, VideoActivities } from '../activities';
import { cleanText } from '../src/contract/clean-text';
import { describeDuration } from '../src/contract/duration';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/failures';
import { LOST_SUBMIT_POLICY } from '../src/contract/policies';
import type { Job } from './job';

/** The failure of a submit that may have made a task; undefined when it is known to have made none. */
export function lostSubmit(error: unknown): VideoFailure | undefined {
  if (readTimeout(error) === 'while-running') {
    return new VideoFailure('SubmitUnconfirmed', {
      message: 'its time was over before it was known how it ended',
    });
  }
  const failure = readFailure(error);
  return failure?.type === 'SubmitUnconfirmed' ? failure : undefined;
}

/** Holds the job until somebody decides: resolves with the task that was found, or with none to submit once more. */
export async function waitForDecision(job: Job, lost: VideoFailure): Promise<string | undefined> {
  const holdMs = job.hold(lost);
  log.warn('the submit is lost, waiting for a decision', { ...lost.details, holdMs });
  try {
    await condition(() => job.decision !== undefined, holdMs, {
      summary: 'for a decision: adopt, resubmit or abandon',
    });
    // Somebody decided in time, and the task is being looked up.
    await condition(() => job.decision !== undefined || job.deciding === 0);
  } catch (error) {
    job.endHold();
    // A cancellation must not hide that a task may exist.
    throw isCancellation(error) ? ended(lost, 'the job was cancelled before anybody decided') : error;
  }
  const decided = job.endHold();
  switch (decided?.decision) {
    case 'adopt':
      return decided.taskId;
    case 'resubmit':
      return undefined;
    case 'abandon':
      throw ended(lost, 'abandoned by decision');
    case undefined:
      throw ended(lost, `nobody decided within ${describeDuration(holdMs)}`);
  }
}

function ended({ details }: VideoFailure, how: string): ApplicationFailure {
  const message = [details.message, how].filter(Boolean).join('; ');
  return createFailure('SubmitUnconfirmed', { ...details, message });
}

/**
 * Submits so that a cancellation hides no lost attempt. Temporal closes a cancelled activity at once while it waits for
 * its next attempt, and forgets what the attempts before left. So this is read first, and the submit is cancelled then.
 */
export async function tellingIfLost(job: Job, submit: () => Promise<SubmittedTask>): Promise<SubmittedTask> {
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
async function findLost(job: Job): Promise<string | undefined> {
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
