import { log } from '@temporalio/activity';
import { LOG_EVENTS, type LogEvent } from '../src/contract/log-events';

/** Writes one line of the table. Temporal adds workflow id, run id and attempt. */
export function logEvent(event: LogEvent, fields: Record<string, unknown> = {}): void {
  const { level, message } = LOG_EVENTS[event];
  log[level](message, { event, ...fields });
}
