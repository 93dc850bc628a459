import { activityInfo, Context } from '@temporalio/activity';
import { fromTemporalType } from '../../src/contract/failure-table';
import { mayHaveMadeTask } from '../../src/contract/lost-submit';
import { SERVICE_MEMO, TASK_ID_MEMO } from '../../src/contract/names';
import type { TaskName } from '../../src/storage/task-claims';
import { unlessDeleted } from '../attempt';
import type { LostSubmit } from './submit-note';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type Events = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

/** Temporal's initiator of a continue-as-new; other initiators are workflow retries. */
const CONTINUED_BY_WORKFLOW = 1;

/** What the runs before a reset or a retry know: the task, or which submit is lost. */
export interface EarlierRuns extends Partial<TaskName> {
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
    // Histories do not have the ids of sends.
    const id = `run/${run}`;
    const handle = Context.current().client.workflow.getHandle(workflowId, run);
    const history = await unlessDeleted(() => handle.fetchHistory());
    if (history === undefined) {
      lost = { id, why: `Temporal no longer has run ${run}, so it is unknown whether a request was sent` };
      continue;
    }
    const events = history.events ?? [];
    for (const other of runsAround(events)) runs.add(other);
    if (run === own) continue;
    const { memo } = (await unlessDeleted(() => handle.describe())) ?? {};
    const { [TASK_ID_MEMO]: taskId, [SERVICE_MEMO]: service } = memo ?? {};
    if (typeof taskId === 'string') return { taskId, ...(typeof service === 'string' && { service }) };
    if (hasOpenSubmit(events))
      lost = { id, why: `run ${run} ended while a request may have been in progress` };
  }
  return { lost };
}

/** The runs that this run was reset from or retries, and the one that continued it before an operator reset it. */
function runsAround(events: Events): string[] {
  const runIds = events.flatMap((event) => {
    const { continuedExecutionRunId, initiator } = event.workflowExecutionStartedEventAttributes ?? {};
    return [
      event.workflowTaskFailedEventAttributes?.baseRunId,
      initiator === CONTINUED_BY_WORKFLOW ? undefined : continuedExecutionRunId,
      event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId,
      event.workflowExecutionFailedEventAttributes?.newExecutionRunId,
      event.workflowExecutionTimedOutEventAttributes?.newExecutionRunId,
    ];
  });
  // Temporal uses an empty string for an absent run id.
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
