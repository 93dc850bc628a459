import { cancellationSignal } from '@temporalio/activity';
import type { JobOptions, ReportedProgress, TaskStatus } from '../src/contract/job';
import type { Prices } from '../src/service/profile';
import type { TaskReading } from '../src/service/video-service';
import { logEvent, whileHeartbeating } from './attempt';
import { callWithinLimits } from './call-within-limits';
import type { WaitingTask } from './polls/poll-plan';
import { type FindTools, toolsFor } from './service-tools';
import { failingAs } from './to-failure';

/** Input of the activity pollVideo. */
export interface PollVideoInput
  extends Omit<WaitingTask, 'retryAfterMs'>,
    Pick<JobOptions, 'sharedCap' | 'caller'> {
  taskId: string;
  /** The named service that has the task. */
  service?: string | undefined;
  /** The id of the job's record in the storage, for what the task was charged. */
  record?: string;
  /** When the last poll that was answered was, since the submit. */
  polledMs?: number | undefined;
}

/** What one poll learned about a task, and how long to wait before the next one. */
export type PolledTask = TaskStatus & { nextPollMs: number; progress?: ReportedProgress | undefined };

/** Polls a task. It reports that there is a video but not its link, because links are secrets and expire. */
export function createPollVideo(
  find: FindTools,
  settleTask?: (input: PollVideoInput, status: TaskStatus) => Promise<void>,
) {
  const warnOnce = createWarnOnce();
  const poll = async (input: PollVideoInput): Promise<PolledTask> => {
    const { taskId, service, ...waiting } = input;
    const tools = toolsFor(find, service, 'poll');
    const signal = cancellationSignal();
    const reading = await callWithinLimits(tools, 'poll', () => tools.service.status(taskId, { signal }));
    const { retryAfterMs, doubts = [] } = reading;
    const status = toStatus(reading, tools.service.profile?.prices);
    const { percent } = { percent: undefined, ...status };
    logEvent('polled', { taskId, state: status.state, percent });
    for (const doubt of doubts) warnOnce('ambiguousAnswer', { taskId, doubt });
    if (status.state === 'unknown') warnOnce('unknownState', { taskId, state: status.word });
    // At the service; a task that succeeded may still be without its link.
    if (['succeeded', 'failed', 'cancelled'].includes(status.state)) {
      tools.rateLimiter.recordTaskEnd();
      await settleTask?.(input, status);
    }
    // A percentage that falls or stands still says nothing new about the end.
    const hasRisen = percent !== undefined && percent > (waiting.progress?.percent ?? 0);
    const progress = hasRisen ? { percent, atMs: waiting.waitedMs ?? 0 } : waiting.progress;
    const nextPollMs = tools.pollPlan.nextPollMs({ ...waiting, progress, retryAfterMs });
    const { kind, polledMs: afterMs, waitedMs: byMs = 0 } = waiting;
    if (status.state === 'succeeded' && status.hasVideo && kind !== undefined && afterMs !== undefined)
      tools.pollPlan.learned.learn({ kind, afterMs, byMs });
    return { ...status, ...(progress && { progress }), nextPollMs };
  };
  return failingAs('poll', (input: PollVideoInput) => whileHeartbeating(() => poll(input)));
}

const MOST_REMEMBERED = 1_000;

/** Warns once per task, not once per poll. */
function createWarnOnce() {
  const warned = new Set<string>();
  return (event: 'ambiguousAnswer' | 'unknownState', about: { taskId: string; [field: string]: string }) => {
    const line = Object.values(about).join(' ');
    if (warned.has(line)) return;
    if (warned.size >= MOST_REMEMBERED) warned.clear();
    warned.add(line);
    logEvent(event, about);
  };
}

function toStatus(
  { task, serviceMessage, refusedContent: refused, charged: amount }: TaskReading,
  prices: Prices | undefined,
): TaskStatus {
  const { state, word } = task;
  // Nothing is nothing in any currency.
  const nothing = refused?.charged === false ? { amount: 0, currency: prices?.currency ?? 'USD' } : undefined;
  const charged = amount ?? nothing;
  const cost = charged && { charged };
  switch (state) {
    case 'succeeded':
      return { state, word, hasVideo: (task.videoUrl ?? task.videoBytes) !== undefined, ...cost };
    case 'failed':
      return { state, word, ...serviceMessage, ...(refused && { refused }), ...cost };
    case 'cancelled':
      return { state, word, ...serviceMessage, ...cost };
    default:
      return { percent: undefined, ...task };
  }
}
