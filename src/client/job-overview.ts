import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodeSearchAttributes } from '@temporalio/common/lib/converter/payload-search-attributes';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { cleanText } from '../contract/clean-text';
import { isFailureType } from '../contract/failure-table';
import { isWorkflowId } from '../contract/input-rules';
import { JOB_PHASES, type JobPhase } from '../contract/job';
import { readCost } from '../contract/job-cost';
import {
  COST_MEMO,
  FALLBACK_WORKFLOW_TYPE,
  IDENTITY_MEMO,
  LOST_SUBMIT_MEMO,
  MADE_FOR_MEMO,
  RETRY_OF_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
} from '../contract/names';
import { isVideoFailure, type VideoFailure } from '../contract/video-failure';
import { decodeFirst, readFirstInput } from '../encryption/decode-first';
import type { JobOverview, OverviewState } from './overview';
import { type DescribedRun, describeRun, inTime, KINDS } from './temporal-calls';
import { batchOf } from './video-batch';
import { jobOf } from './video-job';

/** What Temporal's numbers for the end of a workflow mean for a job; any other number means that it runs. */
const ENDED: ReadonlyMap<number, OverviewState> = new Map([
  [2, 'succeeded'],
  [3, 'failed'],
  [4, 'cancelled'],
  // Terminated: nobody asked the job.
  [5, 'cancelled'],
  // A timeout that the starter set for the workflow.
  [7, 'failed'],
]);

/** A workflow of ours, or one of another type with the video jobs and batches among its children. */
export type FoundWorkflow = { overview: JobOverview } | { otherType: string; children: string[] };

/**
 * Reads a workflow by its id, without a query. Undefined when Temporal does not have it. With `readEnding` false, the failure
 * of an ended job is known only from its search attributes.
 */
export async function findWorkflow(
  client: Client,
  workflowId: string,
  { readEnding = true }: { readEnding?: boolean } = {},
): Promise<FoundWorkflow | undefined> {
  if (!isWorkflowId(workflowId)) return undefined;
  const described = await describeRun(client, { workflowId });
  if (described === undefined) return undefined;
  const type = described.workflowExecutionInfo?.type?.name ?? '';
  const kind = KINDS.get(type);
  if (kind === undefined) return { otherType: type, children: childrenOf(described) };
  const overview = await overviewOf(client, kind, described);
  if (type === FALLBACK_WORKFLOW_TYPE) Object.assign(overview, await turnOf(client, described));
  if (readEnding) Object.assign(overview, await endingOf(client, overview));
  return { overview };
}

function childrenOf({ pendingChildren }: DescribedRun): string[] {
  return (pendingChildren ?? []).flatMap(({ workflowTypeName, workflowId }) =>
    KINDS.has(workflowTypeName ?? '') && workflowId ? [workflowId] : [],
  );
}

/** What the job at the service does whose turn it is. */
async function turnOf(client: Client, described: DescribedRun): Promise<Partial<JobOverview>> {
  const [child] = childrenOf(described);
  const found = child === undefined ? undefined : await findWorkflow(client, child, { readEnding: false });
  if (found === undefined || !('overview' in found) || found.overview.endedAt !== undefined) return {};
  const { state, phase, taskId, service, cost, retrying } = found.overview;
  const known = Object.entries({ state, phase, taskId, service, cost, retrying });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}

async function overviewOf(
  client: Client,
  kind: JobOverview['kind'],
  described: DescribedRun,
): Promise<JobOverview> {
  const { workflowExecutionInfo: info, workflowExtendedInfo: extended } = described;
  const memo = await readMemos(client, info?.memo?.fields, OWN_MEMOS);
  const attributes = decodeSearchAttributes(info?.searchAttributes?.indexedFields);
  const attribute = (name: string) => textIn(attributes[name]?.[0]);
  const ended = ENDED.get(info?.status ?? 0);
  const identity = memo(IDENTITY_MEMO);
  const taskId = textIn(memo(TASK_ID_MEMO)) ?? textIn(Reflect.get(Object(identity), TASK_ID_MEMO));
  const activities = described.pendingActivities ?? [];
  // The names of memos are in the open: a reader without the key still sees that a job waits for a decision.
  const isNoted = (name: string) => Boolean(info?.memo?.fields?.[name]);
  const running = () =>
    phaseOf({
      recorded: attribute('VideoPhase'),
      pending: activities.map(({ activityType }) => activityType?.name ?? ''),
      hasTask: taskId !== undefined || isNoted(TASK_ID_MEMO),
      isLost: isNoted(LOST_SUBMIT_MEMO),
    });
  const phase = kind === 'batch' ? undefined : (ended ?? running());
  const outcome = attribute('VideoOutcome');
  const service = textIn(memo(SERVICE_MEMO));
  const cost = readCost(memo(COST_MEMO));
  const retried = activities.find(
    ({ attempt, lastFailure, activityType }) =>
      // Its attempts fail as long as a job runs that it waits for.
      (attempt ?? 1) > 1 && lastFailure && activityType?.name !== 'awaitJob',
  );
  return {
    workflowId: info?.execution?.workflowId ?? '',
    runId: info?.execution?.runId ?? '',
    kind,
    state: ended ?? (phase === 'needs-decision' ? phase : 'running'),
    ...(phase !== undefined && phase !== 'running' && { phase }),
    ...(taskId !== undefined && { taskId }),
    ...(service !== undefined && { service }),
    ...(cost && { cost }),
    ...(ended === 'failed' && isFailureType(outcome) && { failure: outcome }),
    ...(ended === 'cancelled' && { failure: 'Cancelled' as const }),
    ...(retried && {
      retrying: {
        activity: cleanText(retried.activityType?.name ?? ''),
        attempt: retried.attempt ?? 1,
        message: cleanText(await messageOf(client, retried.lastFailure)),
      },
    }),
    ...(ended === undefined && extended?.cancelRequested && { isCancelling: true }),
    startedAt: isoOf(await firstStart(client, described)),
    ...(info?.closeTime && { endedAt: isoOf(info.closeTime) }),
    taskQueue: info?.taskQueue ?? '',
    ...(info?.parentExecution?.workflowId && { parentId: info.parentExecution.workflowId }),
    ...madeForIn(memo(MADE_FOR_MEMO)),
    ...(typeof memo(RETRY_OF_MEMO) === 'string' && { retryOf: String(memo(RETRY_OF_MEMO)) }),
  };
}

function madeForIn(noted: unknown): Pick<JobOverview, 'madeFor'> {
  return noted === 'batch' || noted === 'fallback' ? { madeFor: noted } : {};
}

/** The start of the first run: a reset run and one that continued as new have later ones. */
async function firstStart(
  client: Client,
  { workflowExecutionInfo: info, workflowExtendedInfo: extended }: DescribedRun,
): Promise<Timestamp> {
  const start = extended?.originalStartTime ?? info?.startTime;
  const { workflowId, runId } = info?.execution ?? {};
  if (!info?.firstRunId || info.firstRunId === runId) return start;
  // Temporal may have forgotten it.
  const first = await describeRun(client, { workflowId: workflowId ?? '', runId: info.firstRunId }).catch(
    () => undefined,
  );
  return first?.workflowExecutionInfo?.startTime ?? start;
}

const OWN_MEMOS = [
  TASK_ID_MEMO,
  LOST_SUBMIT_MEMO,
  COST_MEMO,
  IDENTITY_MEMO,
  RETRY_OF_MEMO,
  MADE_FOR_MEMO,
  SERVICE_MEMO,
];
/** With encryption the message is in a payload. Which key is missing for it, the failure says in the open. */
async function messageOf(client: Client, failure: Failure): Promise<string> {
  const { encodedAttributes } = failure ?? {};
  const stored = encodedAttributes && { payloads: [encodedAttributes] };
  const encoded = await decodeFirst(client.options.loadedDataConverter, stored).catch(() => undefined);
  return textIn(Reflect.get(Object(encoded), 'message')) ?? failure?.message ?? '';
}

type Failure = NonNullable<DescribedRun['pendingActivities']>[number]['lastFailure'];

/** Any program with access to the namespace may write a memo, and a codec that is not set here may have encoded it. */
export async function readMemos(
  client: Client,
  fields: Parameters<typeof decodeSearchAttributes>[0],
  names: readonly string[],
): Promise<(name: string) => unknown> {
  const read = new Map<string, unknown>();
  for (const name of names) {
    const payload = fields?.[name];
    if (!payload) continue;
    const stored = { payloads: [payload] };
    read.set(name, await decodeFirst(client.options.loadedDataConverter, stored).catch(() => undefined));
  }
  return (name) => read.get(name);
}

interface KnownOfJob {
  recorded: string | undefined;
  pending: readonly string[];
  hasTask: boolean;
  isLost: boolean;
}

/** The phase of a running job. */
export function phaseOf({ recorded, pending, hasTask, isLost }: KnownOfJob): JobPhase {
  const phase = JOB_PHASES.find((one) => one === recorded);
  if (phase !== undefined) return phase;
  if (pending.includes('downloadVideo')) return 'downloading';
  if (hasTask) return 'waiting';
  // After the decision to submit again, the memo stays until the task is known.
  return isLost && !pending.includes('submitVideo') ? 'needs-decision' : 'submitting';
}

/** How an ended job or batch ended, from the last event of its history. */
async function endingOf(client: Client, overview: JobOverview): Promise<Partial<JobOverview>> {
  const { workflowId, kind, state, failure } = overview;
  if (overview.endedAt === undefined || failure !== undefined) return {};
  const handle = client.workflow.getHandle(workflowId);
  if (kind === 'batch' && state === 'succeeded') {
    const result = await inTime(client, () => batchOf(handle).result()).catch(() => undefined);
    if (result === undefined) return {};
    const { items, succeeded, failed } = result;
    return { counts: { items, succeeded, failed }, ...(failed > 0 && { state: 'failed' }) };
  }
  if (state !== 'failed') return {};
  const ended = await failureOfEnded(client, handle);
  return ended === undefined ? {} : { failure: ended.type };
}

/** Why an ended job failed; undefined if it did not, or if Temporal no longer says. */
export function failureOfEnded(client: Client, handle: WorkflowHandle): Promise<VideoFailure | undefined> {
  return inTime(client, () => jobOf(handle).result()).then(
    () => undefined,
    (error: unknown) => (isVideoFailure(error) ? error : undefined),
  );
}

type Timestamp = Parameters<typeof requiredTsToDate>[0];

const isoOf = (time: Timestamp) => requiredTsToDate(time, 'startTime').toISOString();

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

export type StoredInput = Record<string, unknown>;

/**
 * The input of a run; a job continues as new with the same. Any program may have written it. Undefined if a codec that is not
 * set here has encoded it.
 */
export async function readInput(
  client: Client,
  execution: { workflowId: string; runId: string },
): Promise<StoredInput | undefined> {
  const first = await inTime(client, () => readFirstInput(client.workflow, execution));
  if (typeof first !== 'object' || first === null) return undefined;
  // Some languages send null for an unset field.
  return Object.fromEntries(Object.entries(first).filter(([, value]) => value !== null));
}
