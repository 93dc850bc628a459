import { cancellationSignal, log } from '@temporalio/activity';
import type { SharedPoll } from '../src/contract/batch';
import { durationMs } from '../src/contract/duration';
import { readFailure } from '../src/contract/failures';
import type { PollBounds, TaskStatus } from '../src/contract/job';
import { POLLS_AT_ONCE, SHARED_POLL_MS } from '../src/contract/policies';
import type { RateLimiter, ServiceProfile, TaskReading, VideoService } from '../src/service';
import { whileAlive } from './attempt';
import { callWithinLimits } from './rate-limited-call';
import { toFailure } from './to-failure';

export interface PollVideoInput {
  taskId: string;
}

export function createPollVideo(pollTask: PollTask) {
  return async function pollVideo({ taskId }: PollVideoInput): Promise<TaskStatus> {
    return whileAlive(
      () => undefined,
      () => pollTask(taskId),
    );
  };
}

export interface PollVideosInput {
  taskIds: string[];
}

/** Looks at many tasks, a few at a time. What one look meets is told of that task and keeps nobody from the others. */
export function createPollVideos(pollTask: PollTask) {
  return async function pollVideos({ taskIds }: PollVideosInput): Promise<SharedPoll[]> {
    const lastStartMs = Date.now() + SHARED_POLL_MS;
    const looks = taskIds.map((): SharedPoll => 'not-yet');
    const waiting = [...taskIds.entries()];
    const lookOn = async () => {
      for (let next = waiting.shift(); next && Date.now() < lastStartMs; next = waiting.shift()) {
        const [index, taskId] = next;
        looks[index] = await toShared(pollTask(taskId));
      }
    };
    await whileAlive(
      () => undefined,
      // Once the first has ended badly, nobody would hear of further looks.
      () => Promise.all(Array.from({ length: POLLS_AT_ONCE }, lookOn)).finally(() => waiting.splice(0)),
    );
    return looks;
  };
}

async function toShared(look: Promise<TaskStatus>): Promise<SharedPoll> {
  try {
    return { status: await look };
  } catch (error) {
    const failure = readFailure(error);
    // A cancellation, or a mistake of ours, is not about this task.
    if (failure === undefined || cancellationSignal().aborted) throw error;
    return { failure: failure.type, details: failure.details };
  }
}

const MOST_DOUBTS = 1_000;

/** One look at a task. It tells that there is a video, never where: links are secrets, and expire. */
export function createPollTask(service: VideoService, rateLimiter: RateLimiter) {
  const warnOnce = warnerOfDoubts();
  return async function pollTask(taskId: string): Promise<TaskStatus> {
    try {
      const reading = await callWithinLimits(rateLimiter, 'poll', () =>
        service.poll(taskId, { signal: cancellationSignal() }),
      );
      const look = toLook(reading);
      for (const doubt of reading.doubts) warnOnce(taskId, doubt);
      if (isOver(look)) rateLimiter.recordTaskEnd();
      return { ...look, ...pollBounds(service.profile) };
    } catch (error) {
      throw toFailure(error, 'poll', { taskId });
    }
  };
}

export type PollTask = ReturnType<typeof createPollTask>;

/** A doubt is worth one warning a task, not one a look; of how many it is known is bounded. */
function warnerOfDoubts() {
  const told = new Set<string>();
  return (taskId: string, doubt: string) => {
    const both = `${taskId} ${doubt}`;
    if (told.has(both)) return;
    if (told.size >= MOST_DOUBTS) told.clear();
    told.add(both);
    log.warn('the answer can be read in two ways', { taskId, doubt });
  };
}

/** Over at the service: one that succeeded may still be without its link. */
function isOver({ state }: TaskStatus): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}

function toLook({ task, serviceMessage, retryAfterMs }: TaskReading): TaskStatus {
  const { word } = task;
  switch (task.state) {
    case 'queued':
    case 'running':
      return { state: task.state, word, percent: task.percent, retryAfterMs };
    case 'unknown':
      return { state: task.state, word, retryAfterMs };
    case 'succeeded':
      return { state: task.state, word, hasVideo: task.videoUrl !== undefined };
    case 'failed':
    case 'cancelled':
      return { state: task.state, word, ...serviceMessage };
  }
}

/** How often the service wants to be asked, for a workflow, which knows no profile. */
export function pollBounds({ polling }: ServiceProfile = {}): { polling?: PollBounds } {
  return polling ? { polling: { min: durationMs(polling.min), max: durationMs(polling.max) } } : {};
}
