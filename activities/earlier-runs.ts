import { activityInfo, Context } from '@temporalio/activity';
import { isFailureType } from '../src/contract/failure-table';
import { TASK_ID_MEMO } from '../src/contract/names';
import { decodeFirst } from './decode-first';
import type { NamedJob } from './job-id';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** A run that was continued as new has told the next one everything. */
const CONTINUED_BY_WORKFLOW = 1;

/** What the runs before a reset know: the task, or that nobody knows whether there is one. */
export interface EarlierRuns {
  taskId?: string;
  lost?: string;
}

/**
 * A reset workflow forgets what came after its reset point, and a retried one everything: also that a task was made and
 * paid for. Temporal does not forget the runs themselves.
 */
export async function lookAtEarlierRuns({ job }: NamedJob): Promise<EarlierRuns> {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const { workflow } = Context.current().client;
  const runs = new Set(predecessors(await workflow.getHandle(workflowId, runId).fetchHistory()));
  let lost: string | undefined;
  for (const earlier of runs) {
    const handle = workflow.getHandle(workflowId, earlier);
    const history = await handle.fetchHistory();
    const submits = submitsIn(history, job === undefined ? undefined : activityId);
    const taskId = job === undefined ? await taskInMemo(handle) : await taskIn(history, submits);
    if (taskId !== undefined) return { taskId };
    if (mayHaveSubmitted(history, submits)) {
      lost = `run ${earlier} was left while its request may have been under way`;
    }
    for (const before of predecessors(history)) runs.add(before);
  }
  return { lost };
}

async function taskInMemo(handle: WorkflowHandle): Promise<string | undefined> {
  const taskId = (await handle.describe()).memo?.[TASK_ID_MEMO];
  return typeof taskId === 'string' ? taskId : undefined;
}

/** The runs that this one was reset from or tries again. */
function predecessors({ events }: History): string[] {
  return (events ?? []).flatMap((event) => {
    const reset = event.workflowTaskFailedEventAttributes?.baseRunId;
    const { continuedExecutionRunId, initiator } = event.workflowExecutionStartedEventAttributes ?? {};
    const tried = initiator === CONTINUED_BY_WORKFLOW ? undefined : continuedExecutionRunId;
    return [reset, tried].filter((runId) => typeof runId === 'string' && runId !== '') as string[];
  });
}

/** The submits of a workflow's only job, or those of one item of a batch, by the ids of their events. */
function submitsIn({ events }: History, activityId: string | undefined): string[] {
  return (events ?? [])
    .filter(({ activityTaskScheduledEventAttributes: scheduled }) => {
      const isSubmit = scheduled?.activityType?.name === 'submitVideo';
      return isSubmit && (activityId === undefined || scheduled?.activityId === activityId);
    })
    .map(({ eventId }) => String(eventId));
}

/** The task that one of the submits answered with. */
async function taskIn({ events }: History, submits: string[]): Promise<string | undefined> {
  const completed = (events ?? [])
    .map(({ activityTaskCompletedEventAttributes: attributes }) => attributes)
    .find((attributes) => attributes && submits.includes(String(attributes.scheduledEventId)));
  const { taskId }: { taskId?: unknown } = Object(completed && (await decodeFirst(completed.result)));
  return typeof taskId === 'string' ? taskId : undefined;
}

/** True unless each of its submits is known to have been refused. */
function mayHaveSubmitted({ events }: History, submits: string[]): boolean {
  const refused = (events ?? []).flatMap(({ activityTaskFailedEventAttributes: failed }) => {
    const type = failed?.failure?.applicationFailureInfo?.type;
    const madeNoTask = isFailureType(type) && type !== 'SubmitUnconfirmed';
    return madeNoTask ? [String(failed?.scheduledEventId)] : [];
  });
  return submits.some((eventId) => !refused.includes(eventId));
}
