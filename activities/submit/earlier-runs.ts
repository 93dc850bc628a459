import { activityInfo, Context } from '@temporalio/activity';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { decodeFirst } from '../../src/contract/decode-first';
import { fromTemporalType, mayHaveMadeTask } from '../../src/contract/failure-table';
import { SERVICE_KEY_MEMO, SERVICE_MEMO, TASK_ID_MEMO } from '../../src/contract/names';
import { readChoice, type ServiceChoice } from '../../src/contract/service-choice';
import type { NamedJob } from '../attempt';

type WorkflowHandle = ReturnType<typeof Context.prototype.client.workflow.getHandle>;
type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type Events = NonNullable<History['events']>;
type Payloads = Parameters<typeof decodeFirst>[1];

/** Temporal's initiator of a continue-as-new; other initiators are workflow retries. */
const CONTINUED_BY_WORKFLOW = 1;
/** The gRPC status code. */
const NOT_FOUND = 5;

interface ReadEarlierRunsInput extends NamedJob {
  /** The runs of this workflow that began with a reset or a retry. They know what they did, but not what came before. */
  resetRuns: string[];
}

/** What the runs before a reset or a retry know: the task, or why a submit is lost. */
export interface EarlierRuns {
  taskId?: string;
  lostSubmit?: string;
  /** The named service of the task or of the lost submit, if it is known. */
  service?: ServiceChoice;
}

/** What Temporal has of the runs of a workflow; undefined for a run that it has deleted. */
export interface KeptRuns {
  historyOf(runId: string): Promise<History | undefined>;
  memoOf(runId: string): Promise<Record<string, unknown> | undefined>;
  decode(payloads: Payloads): Promise<unknown>;
}

/**
 * A reset workflow loses everything after its reset point, and a retried workflow loses everything: also that it paid for a
 * task. Temporal keeps the earlier runs until their retention ends, so they are read from there.
 */
export async function readEarlierRuns({ job, resetRuns }: ReadEarlierRunsInput): Promise<EarlierRuns> {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  return searchEarlierRuns(
    [runId, ...resetRuns],
    runsOf(workflowId),
    job === undefined ? {} : { activityId },
  );
}

/** Of a batch, only the submits of one item count: those with its activity id. */
export async function searchEarlierRuns(
  own: readonly string[],
  kept: KeptRuns,
  { activityId }: { activityId?: string } = {},
): Promise<EarlierRuns> {
  const runs = new Set(own);
  let lost: Pick<EarlierRuns, 'lostSubmit' | 'service'> = {};
  for (const run of runs) {
    const history = await kept.historyOf(run);
    if (history === undefined) {
      lost = { lostSubmit: `Temporal no longer has run ${run}, so it is unknown whether a request was sent` };
      continue;
    }
    const events = history.events ?? [];
    for (const before of runsBefore(events)) runs.add(before);
    if (own.includes(run)) continue;
    const submits = submitsIn(events, activityId);
    const { taskId, service } =
      activityId === undefined ? taskInMemo(await kept.memoOf(run)) : await resultOf(submits, events, kept);
    if (typeof taskId === 'string') return { taskId, ...(service && { service }) };
    const open = submitsWithoutEnd(events, submits);
    if (open.length > 0) {
      const at = await serviceOf(open.at(-1), events, kept);
      lost = {
        lostSubmit: `run ${run} ended while a request may have been in progress`,
        ...(at && { service: at }),
      };
    }
    for (const after of runsAfter(events)) runs.add(after);
  }
  return lost;
}

interface FoundTask {
  taskId: unknown;
  service: ServiceChoice | undefined;
}

function taskInMemo(memo: Record<string, unknown> = {}): FoundTask {
  const service = readChoice({ name: memo[SERVICE_MEMO], key: memo[SERVICE_KEY_MEMO] });
  return { taskId: memo[TASK_ID_MEMO], service };
}

function runsOf(workflowId: string): KeptRuns {
  const { workflow } = Context.current().client;
  const handle = (runId: string) => workflow.getHandle(workflowId, runId);
  return {
    historyOf: (runId) => unlessDeleted(() => handle(runId).fetchHistory()),
    memoOf: async (runId) => (await unlessDeleted(() => handle(runId).describe()))?.memo,
    decode: decodeByWorker,
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

/** The event ids of the submits of a job, or of one item of a batch. */
function submitsIn(events: Events, activityId: string | undefined): string[] {
  return events
    .filter(({ activityTaskScheduledEventAttributes: scheduled }) => {
      const isSubmit = scheduled?.activityType?.name === 'submitVideo';
      return isSubmit && (activityId === undefined || scheduled?.activityId === activityId);
    })
    .map(({ eventId }) => String(eventId));
}

/** The task that one of the submits returned. */
async function resultOf(submits: string[], events: Events, { decode }: KeptRuns): Promise<FoundTask> {
  const completed = events
    .map(({ activityTaskCompletedEventAttributes: attributes }) => attributes)
    .find((attributes) => attributes && submits.includes(String(attributes.scheduledEventId)));
  const { taskId, service }: Record<keyof FoundTask, unknown> = Object(
    completed && (await decode(completed.result)),
  );
  return { taskId, service: readChoice(service) };
}

/** The named service that a submit went to. */
async function serviceOf(
  submit: string | undefined,
  events: Events,
  { decode }: KeptRuns,
): Promise<ServiceChoice | undefined> {
  const scheduled = events.find(({ eventId }) => String(eventId) === submit);
  const input = scheduled?.activityTaskScheduledEventAttributes?.input;
  return readChoice(Object(input && (await decode(input))).service);
}

/** The submits that are not known to have made no task. */
function submitsWithoutEnd(events: Events, submits: string[]): string[] {
  const refused = events.flatMap(({ activityTaskFailedEventAttributes: failed }) => {
    const type = fromTemporalType(failed?.failure?.applicationFailureInfo?.type);
    const madeNoTask = type !== undefined && !mayHaveMadeTask(type);
    return madeNoTask ? [String(failed?.scheduledEventId)] : [];
  });
  return submits.filter((eventId) => !refused.includes(eventId));
}

/** Decodes the first of the payloads that Temporal stores, with the codecs of the worker. */
export async function decodeByWorker(stored: Payloads): Promise<unknown> {
  return decodeFirst(Context.current().client.options.loadedDataConverter, stored);
}
