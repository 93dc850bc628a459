import type { Client } from '@temporalio/client';
import type { FailureType } from '../contract/failure-table';
import { BATCH_WORKFLOW_TYPE } from '../contract/names';
import { findOverview } from './job-overview';
import { newestFirst, type StartedRun } from './newest-first';
import type { JobOverview, OverviewState } from './overview';
import { nameIs, OF_OUR_TYPES } from './temporal-calls';

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
  if (limit <= 0) return;
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
  for await (const runs of inGroups(newestFirst(client, conditions, undefined), AT_ONCE)) {
    for (const overview of await Promise.all(runs.map((run) => readRun(client, run)))) {
      if (overview === undefined || !fits(overview)) continue;
      yield overview;
      left -= 1;
      if (left <= 0) return;
    }
  }
}

/**
 * A job that started again is listed once for each run, and counts where its last run is. The job at one of several services is
 * listed as the job that tries them.
 */
async function readRun(client: Client, { workflowId, runId }: StartedRun): Promise<JobOverview | undefined> {
  const overview = await findOverview(client, workflowId);
  return overview?.runId === runId && overview.madeFor !== 'fallback' ? overview : undefined;
}

async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[], void, undefined> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
