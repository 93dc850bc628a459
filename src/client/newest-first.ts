import type { Client } from '@temporalio/client';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { inTime, listRuns } from './temporal-calls';

/** Where a list continues: after this workflow, which is in the list or was. */
export interface Cursor {
  startTime: Date;
  workflowId: string;
}

/** One run of a workflow. Memos are not read: those that another program has encrypted could not be decoded here. */
export interface StartedRun extends Cursor {
  runId: string;
}

/** This many workflows at a time are read and sorted. */
const MOST_AT_A_TIME = 500;
const FIRST_SPAN_MS = 3_600_000;
const LONGEST_SPAN_MS = 365 * 24 * FIRST_SPAN_MS;
const GROWTH = 4;

/**
 * Workflows by their start, newest first. Temporal lists running workflows first and then the last that ended, and takes no
 * other order. So they are read by the time of their start, a span with few enough of them at a time.
 */
export async function* newestFirst(
  client: Client,
  conditions: string,
  after: Cursor | undefined,
  { mostAtATime = MOST_AT_A_TIME }: { mostAtATime?: number } = {},
): AsyncGenerator<StartedRun> {
  const count = async (...more: string[]) =>
    (await inTime(client, () => client.workflow.count([conditions, ...more].join(' AND ')))).count;
  // Temporal stores microseconds and answers milliseconds. A clock of another machine may be ahead.
  let endMs = after === undefined ? Date.now() + FIRST_SPAN_MS : after.startTime.getTime() + 1;
  let spanMs = 2 * FIRST_SPAN_MS;
  for (;;) {
    const left = await count(before(endMs));
    if (left === 0) return;
    let span = before(endMs);
    if (left > mostAtATime) {
      span = spanOf(endMs, spanMs);
      while (spanMs > 1 && (await count(span)) > mostAtATime) {
        spanMs = Math.ceil(spanMs / GROWTH);
        span = spanOf(endMs, spanMs);
      }
    }
    const found: StartedRun[] = [];
    for await (const { workflowId, runId, startTime } of listRuns(client, `${conditions} AND ${span}`))
      found.push({ workflowId, runId, startTime: requiredTsToDate(startTime, 'startTime') });
    found.sort(byStart);
    for (const one of found) if (after === undefined || byStart(after, one) < 0) yield one;
    if (left <= mostAtATime) return;
    endMs -= spanMs;
    // Not beyond the times that a date can have.
    spanMs = Math.min(spanMs * GROWTH, LONGEST_SPAN_MS);
  }
}

/** Up to its end, which is not in it. */
const spanOf = (endMs: number, spanMs: number) =>
  `${before(endMs)} AND StartTime >= '${new Date(endMs - spanMs).toISOString()}'`;

const before = (ms: number) => `StartTime < '${new Date(ms).toISOString()}'`;

/** Of two that started in the same millisecond, always the same one comes first. */
function byStart(one: Cursor, other: Cursor): number {
  const later = other.startTime.getTime() - one.startTime.getTime();
  if (later !== 0) return later;
  return one.workflowId < other.workflowId ? -1 : Number(one.workflowId > other.workflowId);
}
