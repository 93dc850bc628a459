import type { Client } from '@temporalio/client';
import { itemName, requestsKey, resultsKey } from '../contract/batch';
import { cleanText, shown } from '../contract/clean-text';
import { errorCode, GRPC_STATUS } from '../contract/error-code';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { commandOn } from '../contract/lost-submit';
import { childName, WEBHOOK_WORKFLOW_TYPE, webhookPrefix } from '../contract/names';
import { servicesOf } from '../contract/service-choice';
import { isVideoFailure } from '../contract/video-failure';
import {
  canRemove,
  fileName,
  isStored,
  type RemovingStorage,
  readSmallFile,
  recordIds,
  StorageFault,
  type VideoStorage,
} from '../storage';
import { type ForgetStep, type ForgottenPart, type JobToForget, planFiles, removal } from './forget-files';
import { findOverview, readStart } from './job-overview';
import type { JobOverview } from './overview';
import { ForgetRefused, ForgetStopped, NothingToForget } from './refusals';
import {
  describeRun,
  inTime,
  isNotThere,
  KINDS,
  type ListedRun,
  listRuns,
  OF_OUR_TYPES,
  quotedText,
  RUNNING,
} from './temporal-calls';
import { jobOf } from './video-job';

/** Options for forgetting a job. */
export interface ForgetOptions {
  /** Only says what would be removed. */
  dryRun?: boolean;
}

/** What was removed of a job or a batch, and what was not. */
export interface ForgottenJob {
  workflowId: string;
  kind: 'job' | 'batch';
  dryRun: boolean;
  removed: ForgottenPart[];
  kept: (ForgottenPart & { why: string })[];
  /** What nobody can remove from here, one sentence each. */
  stays: string[];
}

/** What there is of a name. */
interface Target {
  kind: ForgottenJob['kind'];
  /** Undefined when Temporal no longer has it. */
  overview?: JobOverview;
  jobs: JobToForget[];
  /** All its executions, the current one last. */
  runs: Run[];
}

type Run = Pick<ListedRun, 'workflowId' | 'runId' | 'firstRunId' | 'status' | 'type'>;

/**
 * Removes what can be removed of an ended job or batch. The order is what makes it safe to stop anywhere: files first, then
 * the records that name them, then the executions, the current one last. What finds the rest is still there until the end.
 */
export async function forgetJob(
  client: Client,
  storage: VideoStorage,
  workflowId: string,
  { dryRun = false }: ForgetOptions = {},
): Promise<ForgottenJob> {
  if (!isWorkflowId(workflowId)) throw new ForgetRefused(`The name of a job ${WORKFLOW_ID_RULE}.`);
  if (!canRemove(storage))
    throw new ForgetRefused('This storage cannot list and remove files, so nothing can be forgotten.');
  const { kind, overview, jobs, runs } = await findTarget(client, storage, workflowId);
  const done: Pick<ForgottenJob, 'removed' | 'kept'> = { removed: [], kept: [] };
  const carryOut = async (steps: readonly ForgetStep[]) => {
    for (const { what, where, ...step } of steps) {
      const why = 'why' in step ? step.why : dryRun ? undefined : await step.remove();
      if (why === undefined) done.removed.push({ what, where });
      else done.kept.push({ what, where, why });
    }
  };
  let isKnown = overview !== undefined || kind === 'batch';
  try {
    for (const job of jobs) {
      const { steps, isOnRecord } = await planFiles(storage, job);
      isKnown ||= isOnRecord;
      await carryOut(steps);
    }
    const results = resultsKey(workflowId);
    if (kind === 'batch' && (await isStored(storage, results)))
      await carryOut([removal('results', results, () => storage.removeKey(results))]);
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    throw new ForgetStopped(
      `Not everything was removed: ${error.message}. Solve this, and run it again: it finds what is left.`,
      { cause: error },
    );
  }
  if (!isKnown)
    throw new NothingToForget(
      `There is no job ${shown(workflowId)}, neither in Temporal nor in the storage.`,
    );
  await carryOut(runs.map((run) => executionStep(client, run)));
  return { workflowId, kind, dryRun, ...done, stays: whatStays(storage, kind, overview) };
}

async function findTarget(client: Client, storage: RemovingStorage, workflowId: string): Promise<Target> {
  const overview = await findOverview(client, workflowId);
  if (overview === undefined) {
    // Temporal no longer has it: the storage says what it was.
    const items = await itemsOf(client, storage, workflowId);
    const own = { namespace: client.options.namespace, job: workflowId };
    return { kind: items ? 'batch' : 'job', jobs: items ?? [own], runs: [] };
  }
  const { kind, state } = overview;
  if (overview.endedAt === undefined) throw running(workflowId, state === 'needs-decision');
  const runs = await runsOf(client, overview);
  const open = runs.find(({ type, status }) => KINDS.has(type?.name ?? '') && status === RUNNING);
  if (open) throw running(open.workflowId, false);
  if (kind === 'batch')
    return { kind, overview, jobs: (await itemsOf(client, storage, workflowId)) ?? [], runs };
  // Without its key nobody can tell which task the job paid for and where its video is.
  const { input } = await readStart(client, overview);
  const request = typeof input.request === 'object' ? (input.request ?? undefined) : undefined;
  // The records of a job with several services have the names of the jobs at them.
  const names = Array.isArray(input.services)
    ? servicesOf(input).map((service) => childName(workflowId, service))
    : [workflowId];
  const jobs: JobToForget[] = [];
  for (const name of names) jobs.push(await jobIn(client, storage, name, request));
  return { kind, overview, jobs, runs };
}

function running(workflowId: string, isHeld: boolean): ForgetRefused {
  const what = isHeld ? 'waits for a decision, and a task may be paid' : 'is running';
  return new ForgetRefused(
    `${shown(workflowId)} ${what}: end it first with: ${commandOn('cancel', workflowId)}`,
  );
}

/** The deliveries of its webhooks, what it has started, and its own runs, the current one last. Lists lag behind. */
async function runsOf(client: Client, { workflowId, runId }: JobOverview): Promise<Run[]> {
  const current = (await describeRun(client, { workflowId, runId }))?.workflowExecutionInfo;
  const runs = await runsBelow(client, workflowId);
  for await (const run of listRuns(client, `WorkflowId = ${quotedText(workflowId)} AND ${OF_OUR_TYPES}`))
    if (run.runId !== runId) runs.push(run);
  runs.push({ ...current, workflowId, runId });
  const deliveries: Run[] = [];
  for (const first of new Set(runs.map((run) => run.firstRunId || run.runId)))
    for await (const run of listRuns(client, `WorkflowId STARTS_WITH '${webhookPrefix(first)}'`))
      deliveries.push(run);
  return [...deliveries, ...runs];
}

/** Items, and jobs at several services. */
async function runsBelow(client: Client, parent: string): Promise<Run[]> {
  const runs: Run[] = [];
  for await (const run of listRuns(client, `ParentWorkflowId = ${quotedText(parent)} AND ${OF_OUR_TYPES}`))
    runs.push(run);
  const names = new Set(runs.map(({ workflowId }) => workflowId));
  for (const name of names) runs.unshift(...(await runsBelow(client, name)));
  return runs;
}

async function jobIn(
  client: Client,
  storage: RemovingStorage,
  workflowId: string,
  request: object | undefined,
): Promise<JobToForget> {
  const job = { namespace: client.options.namespace, job: workflowId, request };
  const handle = client.workflow.getHandle(workflowId);
  const result = await inTime(client, () => jobOf(handle).result()).catch((error: unknown) => {
    if (!isVideoFailure(error) && !isNotThere(error)) throw error;
  });
  if (result === undefined) return job;
  const { uri, sha256 } = result.video;
  const key = storage.keyOf(uri);
  // With the settings of another worker, the video would stay while everything that leads to it goes.
  if (key === undefined)
    throw new ForgetRefused(
      `The video of ${shown(workflowId)} is ${uri}, which is not in the storage of these settings: set VIDEOGEN_STORAGE as it is for the worker.`,
    );
  return { ...job, video: { key, sha256, taskId: result.taskId } };
}

/** The items of a batch, but not jobs of their own that have such a name. Undefined when the storage has no such batch. */
async function itemsOf(
  client: Client,
  storage: RemovingStorage,
  batch: string,
): Promise<JobToForget[] | undefined> {
  const claim = await readSmallFile(storage, requestsKey(batch));
  if (claim === undefined) return undefined;
  const others = new Set<string>();
  for await (const run of listRuns(client, `WorkflowId STARTS_WITH ${quotedText(`${batch}-`)}`))
    if (run.parentExecution?.workflowId !== batch) others.add(run.workflowId);
  const start = fileName(`${batch}-`);
  // Listed once for all items. The file names of long names are cut, and begin otherwise.
  const ids = await recordIds(storage, start.length > LONGEST_START_CHARS ? '' : start);
  const names = Array.from({ length: itemCount(claim, batch) }, (_, index) => itemName(batch, index + 1));
  const { namespace } = client.options;
  return names
    .filter((job) => !others.has(job))
    .map((job) => ({ namespace, job, recordIds: ids.get(fileName(job)) ?? [] }));
}

const LONGEST_START_CHARS = 180;

function itemCount(claim: string, batch: string): number {
  try {
    const { items }: { items?: unknown } = Object(JSON.parse(claim));
    if (typeof items === 'number') return items;
  } catch {}
  throw new ForgetRefused(`${requestsKey(batch)} in the storage is damaged: repair it, or move it away.`);
}

/** Temporal would end a run that is open: only ended ones, and deliveries, are named here. */
function executionStep(client: Client, { workflowId, runId, type }: Run): ForgetStep {
  const { namespace } = client.options;
  const execution = { namespace, workflowExecution: { workflowId, runId } };
  return {
    what: type?.name === WEBHOOK_WORKFLOW_TYPE ? 'webhook' : 'execution',
    where: `${workflowId} (run ${runId})`,
    remove: async () => {
      try {
        await inTime(client, () => client.workflowService.deleteWorkflowExecution(execution));
      } catch (error) {
        const code = errorCode(error);
        if (code === GRPC_STATUS.permissionDenied || code === GRPC_STATUS.unimplemented)
          return `Temporal does not allow it (${cleanText(String(error))}); the retention of the namespace ends it`;
        if (!isNotThere(error)) throw error;
      }
      return undefined;
    },
  };
}

function whatStays(
  storage: RemovingStorage,
  kind: ForgottenJob['kind'],
  overview: JobOverview | undefined,
): string[] {
  const task = kind === 'job' && overview?.taskId ? `, as task ${shown(overview.taskId)}` : '';
  return [
    'Its records in jobs/, marked as forgotten, so that the same name and request are not paid again.',
    kind === 'batch' && 'A file with its requests: another batch may have the same requests.',
    overview &&
      "Temporal's lists may show it for some minutes, and its archive and backups keep what they have.",
    // Only a bucket can make links.
    storage.link && 'Old versions of the objects, if the bucket keeps versions.',
    'Logs and traces that were written, with the name and the task.',
    `What the service itself keeps${task}: the request and the video.`,
  ].filter((sentence) => typeof sentence === 'string');
}
