import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { SharedPoll } from '../src/contract/batch';
import type { TaskStatus } from '../src/contract/job';
import { LOCAL_SHARED_POLL_MS, POLLS_AT_ONCE, QUICK_POLL_MS, SHARED_POLL_MS } from '../src/contract/policies';
import { readFailure } from '../src/contract/video-failure';
import type { RateLimiter, TaskReading, VideoService } from '../src/service';
import { tracePoll } from '../src/tracing/active-span';
import { whileHeartbeating } from './attempt';
import { logEvent } from './log-event';
import { callWithinLimits } from './rate-limited-call';
import { servicePollingOf } from './service-polling';
import { toFailure } from './to-failure';

/** Input of the activity pollVideo. */
export interface PollVideoInput {
  taskId: string;
  /** As for submitVideo. */
  takesCost?: true;
}

/** Polls one task. */
export function createPollVideo(pollTask: PollTask) {
  return async function pollVideo({ taskId, takesCost }: PollVideoInput): Promise<TaskStatus> {
    const status = await whileHeartbeating(
      () => undefined,
      () => pollTask(taskId),
    );
    return takesCost ? status : { ...status, charged: undefined };
  };
}

/** Input of the activity pollVideos. */
export interface PollVideosInput {
  taskIds: string[];
}

/** Polls many tasks, a few at a time. A failed poll is the result of its task and does not stop the others. */
export function createPollVideos(pollTask: PollTask) {
  return async function pollVideos({ taskIds }: PollVideosInput): Promise<SharedPoll[]> {
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

/** One poll of a task. It reports that there is a video but not its link, because links are secrets and expire. */
export function createPollTask(
  service: VideoService,
  rateLimiter: RateLimiter,
  pollsPerSecondSaved?: number,
) {
  const warnOnce = createDoubtWarner();
  const pollOnce = async (taskId: string, outOfTime?: AbortSignal): Promise<TaskStatus> => {
    const cancelled = cancellationSignal();
    const signal = outOfTime ? AbortSignal.any([cancelled, outOfTime]) : cancelled;
    try {
      const reading = await callWithinLimits(rateLimiter, 'poll', () => service.poll(taskId, { signal }));
      const status = toStatus(reading);
      logEvent('polled', { taskId, ...shownOf(status) });
      for (const doubt of reading.doubts) warnOnce(taskId, doubt);
      if (hasEnded(status)) rateLimiter.recordTaskEnd();
      return { ...status, ...servicePollingOf(service.profile, pollsPerSecondSaved) };
    } catch (error) {
      throw toFailure(error, 'poll', { taskId });
    }
  };
  return (taskId: string, outOfTime?: AbortSignal): Promise<TaskStatus> =>
    tracePoll(taskId, () => pollOnce(taskId, outOfTime));
}

export type PollTask = ReturnType<typeof createPollTask>;

const MOST_REMEMBERED_DOUBTS = 1_000;

/** Logs a doubt once per task, not once per poll. */
function createDoubtWarner() {
  const warned = new Set<string>();
  return (taskId: string, doubt: string) => {
    const key = `${taskId} ${doubt}`;
    if (warned.has(key)) return;
    if (warned.size >= MOST_REMEMBERED_DOUBTS) warned.clear();
    warned.add(key);
    logEvent('ambiguousAnswer', { taskId, doubt });
  };
}

function shownOf(status: TaskStatus): { state: string; percent?: number } {
  const { state } = status;
  return 'percent' in status && status.percent !== undefined ? { state, percent: status.percent } : { state };
}

/** At the service; a task that succeeded may still be without its link. */
function hasEnded({ state }: TaskStatus): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}

function toStatus({
  task,
  serviceMessage,
  retryAfterMs,
  refusedContent: refused,
  charged,
}: TaskReading): TaskStatus {
  const { word } = task;
  const cost = charged && { charged };
  switch (task.state) {
    case 'queued':
    case 'running':
      return { state: task.state, word, percent: task.percent, retryAfterMs };
    case 'unknown':
      return { state: task.state, word, retryAfterMs };
    case 'succeeded':
      return { state: task.state, word, hasVideo: (task.videoUrl ?? task.videoBytes) !== undefined, ...cost };
    case 'failed':
      return { state: task.state, word, ...serviceMessage, ...(refused && { refused }), ...cost };
    case 'cancelled':
      return { state: task.state, word, ...serviceMessage, ...cost };
  }
}
