import { activityInfo, Context } from '@temporalio/activity';
import { isFailureType } from '../src/contract/failure-table';
import { TASK_ID_MEMO } from '../src/contract/names';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** What the runs before a reset know: the task, or that nobody knows whether there is one. */
export interface EarlierRuns {
  taskId?: string;
  lost?: string;
}

/**
 * A reset workflow forgets what came after its reset point, and a retried one everything: also that a task was made and
 * paid for. Temporal does not forget the runs themselves.
 */
export async function lookAtEarlierRuns(): Promise<EarlierRuns> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const { workflow } = Context.current().client;
  const runs = new Set(predecessors(await workflow.getHandle(workflowId, runId).fetchHistory()));
  let lost: string | undefined;
  for (const earlier of runs) {
    const handle = workflow.getHandle(workflowId, earlier);
    const taskId = (await handle.describe()).memo?.[TASK_ID_MEMO];
    if (typeof taskId === 'string') return { taskId };
    const history = await handle.fetchHistory();
    if (mayHaveSubmitted(history)) lost = `run ${earlier} was left while its request may have been under way`;
    for (const before of predecessors(history)) runs.add(before);
  }
  return { lost };
}

/** The runs that this one was reset from or follows. */
function predecessors({ events }: History): string[] {
  return (events ?? []).flatMap((event) => {
    const reset = event.workflowTaskFailedEventAttributes?.baseRunId;
    const followed = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    return [reset, followed].filter((runId) => typeof runId === 'string' && runId !== '') as string[];
  });
}

/** True unless each of its submits is known to have been refused. */
function mayHaveSubmitted({ events }: History): boolean {
  const submits = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'submitVideo',
  );
  const refused = (events ?? []).flatMap(({ activityTaskFailedEventAttributes: failed }) => {
    const type = failed?.failure?.applicationFailureInfo?.type;
    const madeNoTask = isFailureType(type) && type !== 'SubmitUnconfirmed';
    return madeNoTask ? [String(failed?.scheduledEventId)] : [];
  });
  return submits.some(({ eventId }) => !refused.includes(String(eventId)));
}
