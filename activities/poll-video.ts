import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { SharedPoll } from '../src/contract/batch';
import type { TaskStatus } from '../src/contract/job';
import { LOCAL_SHARED_POLL_MS, POLLS_AT_ONCE, QUICK_POLL_MS, SHARED_POLL_MS } from '../src/contract/policies';
import { readFailure } from '../src/contract/video-failure';
import { whileHeartbeating } from './attempt';
import { type FindTools, type ForService, toolsFor } from './service-tools';

/** Input of the activity pollVideo. */
export interface PollVideoInput extends ForService {
  taskId: string;
  /** As for submitVideo. */
  takesCost?: true;
}

/** Polls one task. */
export function createPollVideo(find: FindTools) {
  return async function pollVideo({ taskId, takesCost, service }: PollVideoInput): Promise<TaskStatus> {
    const { pollTask } = toolsFor(find, { service }, 'poll');
    const status = await whileHeartbeating(
      () => undefined,
      () => pollTask(taskId),
    );
    return takesCost ? status : { ...status, charged: undefined };
  };
}

/** Input of the activity pollVideos. */
export interface PollVideosInput extends ForService {
  taskIds: string[];
}

/** Polls many tasks of one service, a few at a time. A failed poll is the result of its task and does not stop the others. */
export function createPollVideos(find: FindTools) {
  return async function pollVideos({ taskIds, service }: PollVideosInput): Promise<SharedPoll[]> {
    const { pollTask } = toolsFor(find, { service }, 'poll');
    const { startsWithinMs, signal } = timeForPolls();
    const lastStartMs = Date.now() + startsWithinMs;
    const polls = taskIds.map((): SharedPoll => 'not-yet');
    const waiting = [...taskIds.entries()];
    const pollWaiting = async () => {
      for (let next = waiting.shift(); next && Date.now() < lastStartMs; next = waiting.shift()) {
        const [index, taskId] = next;
        polls[index] = await toSharedPoll(pollTask(taskId, signal), signal);
      }
    };
    await whileHeartbeating(
      () => undefined,
      // If one throws, the activity has failed and the result of further polls would be lost.
      () => Promise.all(Array.from({ length: POLLS_AT_ONCE }, pollWaiting)).finally(() => waiting.splice(0)),
    );
    return polls;
  };
}

/** A local activity ends soon, with what it has: its workflow waits for it. */
function timeForPolls(): { startsWithinMs: number; signal?: AbortSignal } {
  if (!activityInfo().isLocal) return { startsWithinMs: SHARED_POLL_MS };
  return { startsWithinMs: QUICK_POLL_MS, signal: AbortSignal.timeout(LOCAL_SHARED_POLL_MS) };
}

async function toSharedPoll(poll: Promise<TaskStatus>, outOfTime?: AbortSignal): Promise<SharedPoll> {
  try {
    return { status: await poll };
  } catch (error) {
    const failure = readFailure(error);
    if (!cancellationSignal().aborted && outOfTime?.aborted) return 'not-yet';
    // A cancellation or a bug is not about this task.
    if (failure === undefined || cancellationSignal().aborted) throw error;
    return { failure: failure.type, details: failure.details };
  }
}
