import type { Client } from '@temporalio/client';
import { inTime, type ListedRun, listRuns } from './temporal-calls';

/** A list may continue after it, whether it is still in the list or not. */
type Cursor = Pick<ListedRun, 'startTime' | 'workflowId'>;

/** If no more than these are left, they are read and sorted at once. */
const MOST_AT_A_TIME = 500;
const FIRST_SPAN_MS = 2 * 3_600_000;
const LONGEST_SPAN_MS = 365 * 24 * 3_600_000;
const GROWTH = 4;

/**
 * Workflows by their start, newest first. Temporal lists running workflows first and then the last that ended, and takes no
 * other order. So they are read by the time of their start, in spans that grow while they have few.
 */
export async function* newestFirst(
  client: Client,
  conditions: string,
  after?: Cursor,
  { mostAtATime = MOST_AT_A_TIME }: { mostAtATime?: number } = {},
): AsyncGenerator<ListedRun> {
  // Temporal stores microseconds and answers milliseconds. A clock of another machine may be ahead.
  let endMs = after === undefined ? Date.now() + FIRST_SPAN_MS / 2 : after.startTime.getTime() + 1;
  let spanMs = FIRST_SPAN_MS;
  for (;;) {
    const rest = `${conditions} AND StartTime < '${new Date(endMs).toISOString()}'`;
    const { count: left } = await inTime(client, () => client.workflow.count(rest));
    const span = left > mostAtATime ? ` AND StartTime >= '${new Date(endMs - spanMs).toISOString()}'` : '';
    const found: ListedRun[] = [];
    for await (const run of listRuns(client, `${rest}${span}`)) found.push(run);
    for (const one of found.sort(byStart)) if (after === undefined || byStart(after, one) < 0) yield one;
    if (span === '') return;
    endMs -= spanMs;
    // Not beyond the times that a date can have.
    if (found.length < mostAtATime) spanMs = Math.min(spanMs * GROWTH, LONGEST_SPAN_MS);
  }
}

/** Of two that started in the same millisecond, always the same one comes first. */
function byStart(one: Cursor, other: Cursor): number {
  const later = other.startTime.getTime() - one.startTime.getTime();
  if (later !== 0) return later;
  return one.workflowId < other.workflowId ? -1 : Number(one.workflowId > other.workflowId);
}
