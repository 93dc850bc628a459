import { log } from '@temporalio/workflow';
import { LOG_EVENTS, type LogEvent } from '../src/contract/log-events';

/** Writes one line of the table; nothing in a replay. Temporal adds workflow id and run id. */
export function logEvent(event: LogEvent, fields: Record<string, unknown> = {}): void {
  const { level, message } = LOG_EVENTS[event];
  log[level](message, { event, ...fields });
}

/** The same about one job, with its task. */
export function logJob(
  { known: { taskId } }: { known: { taskId?: string } },
  event: LogEvent,
  fields: Record<string, unknown> = {},
): void {
  logEvent(event, { taskId, ...fields });
}
