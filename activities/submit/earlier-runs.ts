import { activityInfo, Context } from '@temporalio/activity';
import { fromTemporalType } from '../../src/contract/failure-table';
import { mayHaveMadeTask } from '../../src/contract/lost-submit';
import { SERVICE_MEMO, TASK_ID_MEMO } from '../../src/contract/names';
import { unlessDeleted } from '../attempt';
import type { LostSubmit } from './submit-note';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type Events = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

/** Temporal's initiator of a continue-as-new; other initiators are workflow retries. */
const CONTINUED_BY_WORKFLOW = 1;

/** What the runs before a reset or a retry know: the task, or which submit is lost. */
export interface EarlierRuns {
  taskId?: string;
  /** The named service of the task. */
  service?: string;
  lost?: LostSubmit;
}

/**
 * A reset workflow loses everything after its reset point, and a retried workflow loses everything: also that it paid for a
 * task. Temporal keeps the earlier runs until their retention ends, so they are read from there. This run knows what it did
 * itself, but not what came before.
 */
export async function readEarlierRuns(): Promise<EarlierRuns> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId: own } = workflowExecution;
  const runs = new Set([own]);
  let lost: LostSubmit | undefined;
  for (const run of runs) {
    const handle = Context.current().client.workflow.getHandle(workflowId, run);
    const history = await unlessDeleted(() => handle.fetchHistory());
    if (history === undefined) {
      lost = lostOf(run, `Temporal no longer has run ${run}, so it is unknown whether a request was sent`);
      continue;
    }
    const events = history.events ?? [];
    for (const before of runsBefore(events)) runs.add(before);
    if (run === own) continue;
    const { memo } = (await unlessDeleted(() => handle.describe())) ?? {};
    const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service } = memo ?? {};
    if (typeof taskId === 'string') return { taskId, ...(typeof service === 'string' && { service }) };
    if (hasOpenSubmit(events))
      lost = lostOf(run, `run ${run} ended while a request may have been in progress`);
    for (const after of runsAfter(events)) runs.add(after);
  }
  return { lost };
}

/** Histories do not have the ids of sends. */
function lostOf(run: string, why: string): LostSubmit {
  return { id: `run/${run}`, why };
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
