import { type ApplicationFailure, condition, isCancellation, log } from '@temporalio/workflow';
import { describeDuration } from '../src/contract/duration';
import { createFailure, readFailure, readTimeout, VideoFailure } from '../src/contract/failures';
import type { JobState } from './job-state';

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
export async function untilDecided(job: JobState, lost: VideoFailure): Promise<string | undefined> {
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
