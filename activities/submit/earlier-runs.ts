import { activityInfo, Context } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { fromTemporalType } from '../../src/contract/failure-table';
import { mayHaveMadeTask } from '../../src/contract/lost-submit';
import { SERVICE_MEMO, TASK_ID_MEMO } from '../../src/contract/names';
import type { LostSubmit } from './submit-note';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type Events = NonNullable<History['events']>;

/** Temporal's initiator of a continue-as-new; other initiators are workflow retries. */
const CONTINUED_BY_WORKFLOW = 1;
/** The gRPC status code. */
const NOT_FOUND = 5;

/** What the runs before a reset or a retry know: the task, or which submit is lost. */
export interface EarlierRuns {
  taskId?: string;
  /** The named service of the task. */
  service?: string;
  lost?: LostSubmit;
}

/** What Temporal has of the runs of a workflow; undefined for a run that it has deleted. */
export interface KeptRuns {
  historyOf(runId: string): Promise<History | undefined>;
  memoOf(runId: string): Promise<Record<string, unknown> | undefined>;
}

/**
 * A reset workflow loses everything after its reset point, and a retried workflow loses everything: also that it paid for a
 * task. Temporal keeps the earlier runs until their retention ends, so they are read from there. `resetRuns` are the runs of
 * this workflow that began with a reset or a retry: they know what they did, but not what came before.
 */
export async function readEarlierRuns(resetRuns: readonly string[]): Promise<EarlierRuns> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  return searchEarlierRuns([runId, ...resetRuns], runsOf(workflowId));
}

export async function searchEarlierRuns(own: readonly string[], kept: KeptRuns): Promise<EarlierRuns> {
  const runs = new Set(own);
  let lost: LostSubmit | undefined;
  for (const run of runs) {
    const history = await kept.historyOf(run);
    if (history === undefined) {
      lost = lostIn(run, `Temporal no longer has run ${run}, so it is unknown whether a request was sent`);
      continue;
    }
    const events = history.events ?? [];
    for (const before of runsBefore(events)) runs.add(before);
    if (own.includes(run)) continue;
    const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service } = (await kept.memoOf(run)) ?? {};
    if (typeof taskId === 'string') return { taskId, ...(typeof service === 'string' && { service }) };
    if (hasOpenSubmit(events))
      lost = lostIn(run, `run ${run} ended while a request may have been in progress`);
    for (const after of runsAfter(events)) runs.add(after);
  }
  return lost ? { lost } : {};
}

/** Histories do not have the ids of sends. */
function lostIn(run: string, why: string): LostSubmit {
  return { id: `run/${run}`, why };
}

function runsOf(workflowId: string): KeptRuns {
  const { workflow } = Context.current().client;
  const handle = (runId: string) => workflow.getHandle(workflowId, runId);
  return {
    historyOf: (runId) => unlessDeleted(() => handle(runId).fetchHistory()),
    memoOf: async (runId) => (await unlessDeleted(() => handle(runId).describe()))?.memo,
  };
}

async function unlessDeleted<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const isDeleted = isGrpcServiceError(error) && error.code === NOT_FOUND;
    if (isDeleted || error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The runs that this run was reset from or retries. */
function runsBefore(events: Events): string[] {
  return events.flatMap((event) => {
    const { continuedExecutionRunId, initiator } = event.workflowExecutionStartedEventAttributes ?? {};
    const retriedRunId = initiator === CONTINUED_BY_WORKFLOW ? undefined : continuedExecutionRunId;
    return nonEmpty(event.workflowTaskFailedEventAttributes?.baseRunId, retriedRunId);
  });
}

/** The run that continued this one, before an operator reset this one. */
function runsAfter(events: Events): string[] {
  return events.flatMap((event) =>
    nonEmpty(
      event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId,
      event.workflowExecutionFailedEventAttributes?.newExecutionRunId,
      event.workflowExecutionTimedOutEventAttributes?.newExecutionRunId,
    ),
  );
}

/** Temporal uses an empty string for an absent run id. */
function nonEmpty(...runIds: (string | null | undefined)[]): string[] {
  return runIds.flatMap((runId) => runId || []);
}

/** Whether a submit is not known to have made no task. */
function hasOpenSubmit(events: Events): boolean {
  const refused = events.flatMap(({ activityTaskFailedEventAttributes: failed }) => {
    const type = fromTemporalType(failed?.failure?.applicationFailureInfo?.type);
    const madeNoTask = type !== undefined && !mayHaveMadeTask(type);
    return madeNoTask ? [String(failed?.scheduledEventId)] : [];
  });
  return events.some(
    ({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === 'submitVideo' && !refused.includes(String(eventId)),
  );
}
