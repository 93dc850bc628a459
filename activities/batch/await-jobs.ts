import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, Context } from '@temporalio/activity';
import {
  type Client,
  isGrpcDeadlineError,
  ServiceError,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { FailureDetails } from '../../src/contract/failure-details';
import type { FailureType } from '../../src/contract/failure-table';
import type { ChildNews } from '../../src/contract/fallback';
import type { JobResult } from '../../src/contract/job';
import { readCost } from '../../src/contract/job-cost';
import {
  describeConflict,
  describeOtherType,
  identityOf,
  type JobIdentity,
} from '../../src/contract/job-identity';
import {
  CHILD_NEWS_SIGNAL,
  COST_MEMO,
  FALLBACK_WORKFLOW_TYPE,
  IDENTITY_MEMO,
  LOST_SUBMIT_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
  WORKFLOW_TYPE,
} from '../../src/contract/names';
import { readFailure, VideoFailure } from '../../src/contract/video-failure';
import { decodeFirst } from '../../src/encryption/decode-first';
import { describeJob, whileHeartbeating } from '../attempt';

/** A job to wait for. */
export interface AwaitedJob {
  name: string;
  /** What it should be for: the result of another job is never taken. */
  identity?: JobIdentity;
}

/** Input of the activity awaitJobs. */
export interface AwaitJobsInput {
  jobs: AwaitedJob[];
}

/** How a job ended. `hadEnded`: before anybody waited for it. `isGone`: Temporal has none of this name. */
export type JobEnd = { name: string; hadEnded: boolean } & (
  | { result: JobResult }
  | { failure: FailureType; details: FailureDetails }
  | { isGone: true }
);

/** For so long, a call may outlast the activity. */
const ASK_AGAIN_MS = 10_000;
/** Jobs often end together, and those that had ended are found one after the other. */
const GATHER_MS = 200;
/** Their results travel together. */
const MOST_ENDS = 100;

/** Waits until one of the jobs ends, and returns those that have. */
export async function awaitJobs({ jobs }: AwaitJobsInput): Promise<JobEnd[]> {
  const { client, cancelled } = Context.current();
  const stopped = new AbortController();
  const ends: JobEnd[] = [];
  const waits = jobs.map(async (job) => {
    ends.push(await awaitJob(client, job, stopped.signal));
  });
  try {
    await whileHeartbeating(
      () => undefined,
      () => Promise.race([...waits, cancelled]),
    );
    await sleep(GATHER_MS);
    return ends.slice(0, MOST_ENDS);
  } finally {
    stopped.abort();
    void Promise.allSettled(waits);
  }
}

async function awaitJob(
  client: Client,
  { name, identity }: AwaitedJob,
  stopped: AbortSignal,
): Promise<JobEnd> {
  const found = await describeJob(name);
  if (found === undefined) return { name, hadEnded: true, isGone: true };
  const isRunning = found.status.name === 'RUNNING';
  const conflict = identity && (await conflictWith(client, { name, identity }, found));
  if (conflict) return { name, hadEnded: !isRunning, failure: 'InvalidRequest', details: conflict };
  if (isRunning && isHeld(found)) await tellHold(client, name, String(found.memo?.[LOST_SUBMIT_MEMO]));
  return { name, hadEnded: !isRunning, ...(await endOf(client, client.workflow.getHandle(name), stopped)) };
}

type Found = Awaited<ReturnType<WorkflowHandle['describe']>>;

/** A job of this name that is for something else. */
async function conflictWith(
  client: Client,
  { name, identity }: Required<AwaitedJob>,
  { type, runId, memo }: Found,
): Promise<FailureDetails | undefined> {
  if (type !== WORKFLOW_TYPE && type !== FALLBACK_WORKFLOW_TYPE)
    return { message: describeOtherType(name, type, WORKFLOW_TYPE), advice: 'Choose another name.' };
  const theirs = memo?.[IDENTITY_MEMO] ?? (await identityInHistory(client, name, runId));
  return describeConflict(name, theirs, identity);
}

/** Programs in other languages write no memo. */
async function identityInHistory(client: Client, workflowId: string, runId: string): Promise<JobIdentity> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  return identityOf(Object(await decodeFirst(client.options.loadedDataConverter, input)));
}

/** It told so the run of the parent that started it. */
function isHeld({ memo, raw }: Found): boolean {
  if (memo?.[LOST_SUBMIT_MEMO] === undefined || memo[TASK_ID_MEMO] !== undefined) return false;
  return (raw.pendingActivities ?? []).length === 0;
}

async function tellHold(client: Client, name: string, since: string): Promise<void> {
  const { workflowExecution } = activityInfo();
  const news: ChildNews = { name, hold: { since, until: '', message: '' } };
  if (workflowExecution)
    await client.workflow.getHandle(workflowExecution.workflowId).signal(CHILD_NEWS_SIGNAL, news);
}

/** A reset terminates a run and starts another, which has the end. */
async function endOf(
  client: Client,
  handle: WorkflowHandle,
  stopped: AbortSignal,
): Promise<{ result: JobResult } | { failure: FailureType; details: FailureDetails }> {
  for (;;) {
    stopped.throwIfAborted();
    try {
      // The connection of a worker cannot abort a call.
      return { result: await client.withDeadline(Date.now() + ASK_AGAIN_MS, () => handle.result()) };
    } catch (error) {
      if (error instanceof ServiceError && isGrpcDeadlineError(error.cause)) continue;
      if (!(error instanceof WorkflowFailedError)) throw error;
      const { status, memo = {} } = await handle.describe();
      if (status.name === 'RUNNING') continue;
      const { type, details } = endedByTemporal(error.cause) ?? readFailure(error) ?? unexpected(error.cause);
      const known = {
        taskId: memo[TASK_ID_MEMO],
        service: memo[SERVICE_MEMO],
        cost: readCost(memo[COST_MEMO]),
      };
      return { failure: type, details: { ...withoutUnset(known), ...details } };
    }
  }
}

function endedByTemporal(cause: unknown): VideoFailure | undefined {
  if (cause instanceof CancelledFailure) return new VideoFailure('Cancelled');
  if (cause instanceof TerminatedFailure) return new VideoFailure('Cancelled', { message: 'terminated' });
  if (cause instanceof TimeoutFailure)
    return new VideoFailure('DeadlineExceeded', { message: 'a timeout of Temporal ended its workflow' });
  return undefined;
}

const unexpected = (cause: unknown) => new VideoFailure('Unexpected', { message: String(cause) });

const withoutUnset = (known: object): FailureDetails =>
  Object.fromEntries(Object.entries(known).filter(([, value]) => value != null));
