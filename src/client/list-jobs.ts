import type { Client } from '@temporalio/client';
import type { FailureType } from '../contract/failure-table';
import { BATCH_WORKFLOW_TYPE } from '../contract/names';
import { findOverview } from './job-overview';
import type { JobOverview, OverviewState } from './overview';
import { inTime, type ListedRun, listRuns, nameIs, OF_OUR_TYPES } from './temporal-calls';

/** Which jobs and batches a list has. */
export interface ListOptions {
  /** Only those in one of these states. */
  states?: readonly OverviewState[];
  /** Only those that failed so, or were `Cancelled`. */
  failures?: readonly FailureType[];
  /** Only those that started, or continued as new, since then. */
  since?: Date;
  /** Only the items of this batch. */
  batch?: string;
  /** Maximum number of rows. Default: 50. */
  limit?: number;
}

const DEFAULT_LIMIT = 50;

/** How many are read at the same time. */
const AT_ONCE = 10;

/** What Temporal calls the states, for its list. Items of a batch that has completed may have failed. */
const CONDITIONS: Record<OverviewState, string> = {
  // Also those that somebody has paused.
  running: 'CloseTime IS NULL',
  'needs-decision': 'CloseTime IS NULL',
  succeeded: "ExecutionStatus = 'Completed'",
  failed: `(ExecutionStatus = 'Failed' OR ExecutionStatus = 'TimedOut' OR (ExecutionStatus = 'Completed' AND WorkflowType = '${BATCH_WORKFLOW_TYPE}'))`,
  cancelled: "(ExecutionStatus = 'Canceled' OR ExecutionStatus = 'Terminated')",
};

/** The jobs and batches of a namespace, newest first. */
export async function* listJobs(
  client: Client,
  { states, failures, since, batch, limit = DEFAULT_LIMIT }: ListOptions = {},
): AsyncGenerator<JobOverview, void, undefined> {
  const asked = failures === undefined ? states : (['failed', 'cancelled'] as const);
  const ofState = new Set(asked?.map((state) => CONDITIONS[state]));
  const conditions = [
    OF_OUR_TYPES,
    "ExecutionStatus != 'ContinuedAsNew'",
    ...(ofState.size > 0 ? [`(${[...ofState].join(' OR ')})`] : []),
    ...(since === undefined ? [] : [`StartTime >= '${since.toISOString()}'`]),
    ...(batch === undefined ? [] : [nameIs('ParentWorkflowId', batch)]),
  ].join(' AND ');
  const fits = ({ state, failure, parentId }: JobOverview) =>
    (batch === undefined || parentId === batch) &&
    (states === undefined || states.includes(state)) &&
    (failures === undefined || (failure !== undefined && failures.includes(failure)));
  let left = limit;
  if (left <= 0) return;
  for await (const overview of overviewsOf(client, newestFirst(client, conditions))) {
    if (!fits(overview)) continue;
    yield overview;
    left -= 1;
    if (left <= 0) return;
  }
}

/**
 * A job that started again is listed once for each run, and counts where its last run is. The job at one of several services is
 * listed as the job that tries them.
 */
async function* overviewsOf(client: Client, runs: AsyncIterable<ListedRun>): AsyncGenerator<JobOverview> {
  let group: ListedRun[] = [];
  const readGroup = async () => {
    const read = group.map(async ({ workflowId, runId }) => {
      const overview = await findOverview(client, workflowId);
      return overview?.runId === runId && overview.madeFor !== 'fallback' ? [overview] : [];
    });
    group = [];
    return (await Promise.all(read)).flat();
  };
  for await (const run of runs) {
    group.push(run);
    if (group.length === AT_ONCE) yield* await readGroup();
  }
  yield* await readGroup();
}

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
