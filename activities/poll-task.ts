import { cancellationSignal } from '@temporalio/activity';
import type { TaskStatus } from '../src/contract/job';
import type { FoundService, TaskReading } from '../src/service';
import { tracePoll } from '../src/tracing/active-span';
import { logEvent } from './log-event';
import { callWithinLimits } from './rate-limited-call';
import { servicePollingOf } from './service-polling';
import { toFailure } from './to-failure';

/** One poll of a task. It reports that there is a video but not its link, because links are secrets and expire. */
export function createPollTask(found: FoundService, pollsPerSecondSaved?: number) {
  const { service, rateLimiter } = found;
  const warnOnce = createDoubtWarner();
  const pollOnce = async (taskId: string, outOfTime?: AbortSignal): Promise<TaskStatus> => {
    const cancelled = cancellationSignal();
    const signal = outOfTime ? AbortSignal.any([cancelled, outOfTime]) : cancelled;
    try {
      const reading = await callWithinLimits(found, 'poll', () => service.poll(taskId, { signal }));
      const status = toStatus(reading);
      logEvent('polled', { taskId, state: status.state, percent: percentOf(status) });
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

function percentOf(status: TaskStatus): number | undefined {
  return 'percent' in status ? status.percent : undefined;
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
