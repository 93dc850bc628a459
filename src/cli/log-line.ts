import { inspect } from 'node:util';
import type { LogEntry } from '@temporalio/worker';
import { printable } from '../contract';

/** A line of the log of the SDK, as it may be written to a terminal: others choose the names that are in it. */
export function logLine({ level, timestampNanos, message, meta }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  return printable(`${time} [${level}] ${message}${meta === undefined ? '' : ` ${inspect(meta)}`}\n`);
}
