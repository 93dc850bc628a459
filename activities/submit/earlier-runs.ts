import { activityInfo, Context } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { decodeFirst as decodeFirstBy } from '../../src/contract/decode-first';
import { fromTemporalType } from '../../src/contract/failure-table';
import { TASK_ID_MEMO } from '../../src/contract/names';
import type { NamedJob } from '../attempt';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** How a run that was continued as new is told from one that is tried again. */
const CONTINUED_BY_WORKFLOW = 1;
/** The code of gRPC. */
const NOT_FOUND = 5;

interface ReadEarlierRunsInput extends NamedJob {
  /** The runs with a reset that this one goes on from; it was told of what they did, and not of what came before. */
  resetRuns: string[];
}

/** What the runs before a reset know: the task, or that nobody knows whether there is one. */
export interface EarlierRuns {
  taskId?: string;
  lost?: string;
}

/**
 * A reset workflow forgets what came after its reset point, and a retried one everything: also that a task was made and
 * paid for. Temporal does not forget the runs themselves until their retention is over.
 */
export async function readEarlierRuns({ job, resetRuns }: ReadEarlierRunsInput): Promise<EarlierRuns> {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const own = [runId, ...resetRuns];
  const runs = new Set(own);
  let lost: string | undefined;
  for (const run of runs) {
    const handle = Context.current().client.workflow.getHandle(workflowId, run);
    const history = await unlessForgotten(() => handle.fetchHistory());
    if (history === undefined) {
      lost = `Temporal no longer has run ${run}, so nobody can tell whether a request was sent`;
      continue;
    }
    for (const before of runsBefore(history)) runs.add(before);
    if (own.includes(run)) continue;
    const submits = submitsIn(history, job === undefined ? undefined : activityId);
    const taskId = job === undefined ? await taskInMemo(handle) : await taskIn(history, submits);
    if (taskId !== undefined) return { taskId };
    if (mayHaveSubmitted(history, submits)) {
      lost = `run ${run} was left while its request may have been under way`;
    }
    for (const after of runsAfter(history)) runs.add(after);
  }
  return { lost };
}

async function unlessForgotten<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const isForgotten = isGrpcServiceError(error) && error.code === NOT_FOUND;
    if (isForgotten || error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function taskInMemo(handle: WorkflowHandle): Promise<string | undefined> {
  const taskId = (await unlessForgotten(() => handle.describe()))?.memo?.[TASK_ID_MEMO];
  return typeof taskId === 'string' ? taskId : undefined;
}

/** The runs that this one was reset from or tries again. */
function runsBefore({ events }: History): string[] {
  return (events ?? []).flatMap((event) => {
    const { continuedExecutionRunId, initiator } = event.workflowExecutionStartedEventAttributes ?? {};
    const tried = initiator === CONTINUED_BY_WORKFLOW ? undefined : continuedExecutionRunId;
    return named(event.workflowTaskFailedEventAttributes?.baseRunId, tried);
  });
}

/** The run that went on from this one, before somebody chose this one for a reset. */
function runsAfter({ events }: History): string[] {
  return (events ?? []).flatMap((event) =>
    named(
      event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId,
      event.workflowExecutionFailedEventAttributes?.newExecutionRunId,
      event.workflowExecutionTimedOutEventAttributes?.newExecutionRunId,
    ),
  );
}

/** Temporal says nothing with an empty text. */
function named(...runIds: (string | null | undefined)[]): string[] {
  return runIds.flatMap((runId) => runId || []);
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
    const type = fromTemporalType(failed?.failure?.applicationFailureInfo?.type);
    const madeNoTask = type !== undefined && type !== 'SubmitUnconfirmed';
    return madeNoTask ? [String(failed?.scheduledEventId)] : [];
  });
  return submits.some((eventId) => !refused.includes(eventId));
}

/** The first of the values that Temporal keeps, through the codecs of the worker. */
export async function decodeFirst(kept: Parameters<typeof decodeFirstBy>[1]): Promise<unknown> {
  return decodeFirstBy(Context.current().client.options.loadedDataConverter, kept);
}
