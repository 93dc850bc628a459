import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { requiredTsToDate } from '@temporalio/common/lib/time';
import { ConfigError } from '../config/service-config';
import { cleanText, shown } from '../contract/clean-text';
import { isWorkflowId } from '../contract/input-rules';
import type { JobPhase } from '../contract/job';
import { readCost } from '../contract/job-cost';
import {
  COST_MEMO,
  FALLBACK_WORKFLOW_TYPE,
  IDENTITY_MEMO,
  LOST_SUBMIT_MEMO,
  MADE_FOR_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
} from '../contract/names';
import { isVideoFailure, type VideoFailure } from '../contract/video-failure';
import { decodeFirst, readFirstInput } from '../encryption/decode-first';
import type { JobOverview } from './overview';
import { type DescribedRun, describeRun, inTime, KINDS, runOf } from './temporal-calls';
import { batchOf, jobOf } from './video-job';

/** What Temporal's numbers for the end of a workflow mean for a job; any other number means that it runs. */
const ENDED: ReadonlyMap<number, 'succeeded' | 'failed' | 'cancelled'> = new Map([
  [2, 'succeeded'],
  [3, 'failed'],
  [4, 'cancelled'],
  // Terminated: nobody asked the job.
  [5, 'cancelled'],
  // A timeout that the starter set for the workflow.
  [7, 'failed'],
]);

/** Reads a job or batch without a query. Undefined when Temporal has none of this name. */
export async function findOverview(client: Client, workflowId: string): Promise<JobOverview | undefined> {
  if (!isWorkflowId(workflowId)) return undefined;
  const described = await describeRun(client, { workflowId });
  const info = described?.workflowExecutionInfo;
  const type = info?.type?.name ?? '';
  const kind = KINDS.get(type);
  if (!described || !info || kind === undefined) return undefined;
  const overview = await overviewOf(client, kind, info, described);
  // One that was terminated has ended, although its child may go on.
  const hasTurn = type === FALLBACK_WORKFLOW_TYPE && overview.endedAt === undefined;
  const turn = hasTurn ? await turnOf(client, described) : {};
  return { ...overview, ...turn, ...(await endingOf(client, overview)) };
}

/** What the job at the service does whose turn it is. */
async function turnOf(client: Client, { pendingChildren }: DescribedRun): Promise<Partial<JobOverview>> {
  const child = pendingChildren?.find(({ workflowTypeName }) => KINDS.has(workflowTypeName ?? ''));
  const found = await findOverview(client, child?.workflowId ?? '');
  if (found === undefined || found.endedAt !== undefined) return {};
  const { state, phase, taskId, service, cost, retrying, paused } = found;
  const known = Object.entries({ state, phase, taskId, service, cost, retrying, paused });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}

async function overviewOf(
  client: Client,
  kind: JobOverview['kind'],
  info: NonNullable<DescribedRun['workflowExecutionInfo']>,
  { workflowExtendedInfo: extended, pendingActivities }: DescribedRun,
): Promise<JobOverview> {
  const memo = await decodeFields(client, info.memo?.fields);
  const ended = ENDED.get(info.status ?? 0);
  const activities = pendingActivities ?? [];
  const taskId = textIn(memo[TASK_ID_MEMO]) ?? textIn(Object(memo[IDENTITY_MEMO]).taskId);
  const pending = activities.map(({ activityType }) => activityType?.name ?? '');
  const phase = kind === 'batch' ? undefined : (ended ?? phaseOf(pending, memo, taskId));
  const retried = activities.find(
    ({ attempt, lastFailure, activityType }) =>
      // Its attempts fail as long as a job runs that it waits for.
      (attempt ?? 1) > 1 && lastFailure && activityType?.name !== 'awaitJob',
  );
  const madeFor = memo[MADE_FOR_MEMO];
  const { workflowId, runId, firstRunId, parentId } = runOf(info);
  // A job that continued as new is as old as its first run, which Temporal may have forgotten.
  const first =
    firstRunId === runId ? undefined : await describeRun(client, { workflowId, runId: firstRunId });
  return {
    workflowId,
    runId,
    kind,
    state: ended ?? (phase === 'needs-decision' ? phase : 'running'),
    phase,
    taskId,
    service: textIn(memo[SERVICE_MEMO]),
    cost: readCost(memo[COST_MEMO]),
    failure: ended === 'cancelled' ? 'Cancelled' : undefined,
    retrying: retried && {
      activity: cleanText(retried.activityType?.name ?? ''),
      attempt: retried.attempt ?? 1,
      message: cleanText(await messageOf(client, retried.lastFailure ?? {})),
      ...(retried.nextAttemptScheduleTime && { nextAttemptAt: isoOf(retried.nextAttemptScheduleTime) }),
    },
    paused: ended === undefined ? pausedIn(workflowId, extended?.pauseInfo) : undefined,
    isCancelling: (ended === undefined && extended?.cancelRequested) || undefined,
    startedAt: isoOf(
      first?.workflowExecutionInfo?.startTime ?? extended?.originalStartTime ?? info.startTime,
    ),
    endedAt: info.closeTime ? isoOf(info.closeTime) : undefined,
    taskQueue: info.taskQueue ?? '',
    parentId,
    madeFor: madeFor === 'batch' || madeFor === 'fallback' ? madeFor : undefined,
  };
}

/**
 * A memo. Any program with access to the namespace may write one, and a codec that is not set here may have encoded it: such a value
 * is undefined, and its name is still there.
 */
async function decodeFields(
  { options: { loadedDataConverter } }: Client,
  fields: { [name: string]: Payload } | null | undefined,
): Promise<Record<string, unknown>> {
  const decoded = Object.entries(fields ?? {}).map(async ([name, payload]) => {
    const value = await decodeFirst(loadedDataConverter, { payloads: [payload] }).catch(() => undefined);
    return [name, value] as const;
  });
  return Object.fromEntries(await Promise.all(decoded));
}

/** With encryption the message is in a payload. Which key is missing for it, the failure says in the open. */
async function messageOf(
  client: Client,
  { encodedAttributes, message }: NonNullable<PendingActivity['lastFailure']>,
): Promise<string> {
  const decoded = await decodeFields(client, encodedAttributes ? { encodedAttributes } : {});
  return textIn(Object(decoded.encodedAttributes).message) ?? message ?? '';
}

type PendingActivity = NonNullable<DescribedRun['pendingActivities']>[number];

/** The phase of a running job. A task id that cannot be decoded here is a task too. */
function phaseOf(pending: readonly string[], memo: object, taskId: string | undefined): JobPhase {
  if (pending.includes('downloadVideo')) return 'downloading';
  if (taskId !== undefined || TASK_ID_MEMO in memo) return 'waiting';
  // After the decision to submit again, the memo stays until the task is known.
  return LOST_SUBMIT_MEMO in memo && !pending.includes('submitVideo') ? 'needs-decision' : 'submitting';
}

/** How an ended job or batch ended, from the last event of its history. */
async function endingOf(client: Client, overview: JobOverview): Promise<Partial<JobOverview>> {
  const { workflowId, kind, state } = overview;
  const handle = client.workflow.getHandle(workflowId);
  if (kind === 'batch' && state === 'succeeded') {
    const result = await inTime(client, () => batchOf(handle).result()).catch(() => undefined);
    if (result === undefined) return {};
    const { items, succeeded, failed } = result;
    return { counts: { items, succeeded, failed }, ...(failed > 0 && { state: 'failed' }) };
  }
  return state === 'failed' ? { failure: (await failureOfEnded(client, handle))?.type } : {};
}

/** Why an ended job failed; undefined if it did not, or if Temporal no longer says. */
export function failureOfEnded(client: Client, handle: WorkflowHandle): Promise<VideoFailure | undefined> {
  return inTime(client, () => jobOf(handle).result()).then(
    () => undefined,
    (error: unknown) => (isVideoFailure(error) ? error : undefined),
  );
}

function pausedIn(
  name: string,
  info: NonNullable<DescribedRun['workflowExtendedInfo']>['pauseInfo'],
): JobOverview['paused'] {
  if (!info?.pausedTime) return undefined;
  const { pausedTime, identity, reason } = info;
  return { name, since: isoOf(pausedTime), by: cleanText(identity ?? ''), reason: cleanText(reason ?? '') };
}

const isoOf = (time: Parameters<typeof requiredTsToDate>[0]) =>
  requiredTsToDate(time, 'startTime').toISOString();

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

export type StoredInput = Record<string, unknown>;

/**
 * What a run was started with. Any program may have written the input; a job continues as new with the same. Rejects if it
 * cannot be decoded here: an error of our encryption names the key.
 */
export async function readStart(
  client: Client,
  { workflowId, runId }: JobOverview,
): Promise<{ input: StoredInput; memo: Record<string, unknown>; searchAttributes: object }> {
  // This run alone: a retry may start the job again meanwhile.
  const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
  const { memo = {}, searchAttributes } = await inTime(client, () => handle.describe());
  const input = await inTime(client, () => readFirstInput(client.workflow, { workflowId, runId }));
  if (typeof input !== 'object' || input === null)
    throw new ConfigError(`${shown(workflowId)} cannot be read here: another codec has encoded it.`);
  // Some languages send null for an unset field.
  const fields = Object.entries(input).filter(([, value]) => value !== null);
  return { input: Object.fromEntries(fields), memo, searchAttributes };
}
