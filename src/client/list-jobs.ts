import type { Client } from '@temporalio/client';
import type { FailureType } from '../contract/failure-table';
import { BATCH_WORKFLOW_TYPE } from '../contract/names';
import { findOverview } from './job-overview';
import { newestFirst } from './newest-first';
import type { JobOverview, OverviewState } from './overview';
import { type ListedRun, nameIs, OF_OUR_TYPES } from './temporal-calls';

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
  running: "ExecutionStatus = 'Running'",
  'needs-decision': "ExecutionStatus = 'Running'",
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
