import type { Client } from '@temporalio/client';
import { itemName, requestsKey, resultsKey } from '../contract/batch';
import { shown } from '../contract/clean-text';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { describeOtherType } from '../contract/job-identity';
import { commandOn } from '../contract/lost-submit';
import { WORKFLOW_TYPE } from '../contract/names';
import { isVideoFailure } from '../contract/video-failure';
import { whyNotDecrypted } from '../encryption/not-decrypted';
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
import {
  childrenOf,
  deleteExecution,
  deliveriesOf,
  type Execution,
  executionsOf,
  namesWith,
} from './executions';
import {
  type ForgottenPart,
  type ForgottenParts,
  forgetFiles,
  type JobToForget,
  type KeptPart,
} from './forget-files';
import { ForgetRefused, ForgetStopped, NothingToForget } from './forget-refused';
import { findWorkflow, readInput, type StoredInput } from './job-overview';
import type { JobOverview } from './overview';
import { inTime } from './temporal-calls';
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
  kept: KeptPart[];
  /** What nobody can remove from here, one sentence each. */
  stays: string[];
}

/** What there is of a name. */
interface Target {
  kind: ForgottenJob['kind'];
  /** Undefined when Temporal no longer has it. */
  overview?: JobOverview;
  requestsFrom?: unknown;
  jobs: JobToForget[];
  runs: Execution[];
}

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
  const target = await findTarget(client, storage, workflowId);
  const { removed, kept, markers }: ForgottenParts = { removed: [], kept: [], markers: [] };
  try {
    for (const job of target.jobs) {
      const done = await forgetFiles(storage, job, { dryRun });
      removed.push(...done.removed);
      kept.push(...done.kept);
      markers.push(...done.markers);
    }
    if (target.kind === 'batch') {
      const [results, claim] = [resultsKey(workflowId), requestsKey(workflowId)];
      if (await isStored(storage, results)) {
        if (!dryRun) await storage.removeKey(results);
        removed.push({ what: 'results', where: results });
      }
      // It has the number of items and a digest, and finds the items again.
      if (await isStored(storage, claim)) markers.push(claim);
    }
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    throw new ForgetStopped(
      `Not everything was removed: ${error.message}. Solve this, and run it again: it finds what is left.`,
      { cause: error },
    );
  }
  for (const { what, ...run } of await executionsToForget(client, target)) {
    const where = `${run.workflowId} (run ${run.runId})`;
    const why = dryRun ? undefined : await deleteExecution(client, run);
    if (why === undefined) removed.push({ what, where });
    else kept.push({ what, where, why });
  }
  if (removed.length + kept.length + markers.length === 0)
    throw new NothingToForget(
      `There is no job ${shown(workflowId)}, neither in Temporal nor in the storage.`,
    );
  const stays = whatStays(storage, { ...target, markers });
  return { workflowId, kind: target.kind, dryRun, removed, kept, stays };
}

async function findTarget(client: Client, storage: RemovingStorage, workflowId: string): Promise<Target> {
  const overview = await endedOverview(client, workflowId);
  if (overview) {
    const children = await childrenOf(client, workflowId);
    const runs = [...children, ...(await executionsOf(client, workflowId))];
    const open = runs.find(({ isOpen }) => isOpen);
    if (open) throw running(open.workflowId, false);
    await refuseUnreadable(client, workflowId);
    const input = await readInput(client, overview);
    const jobs =
      overview.kind === 'batch'
        ? ((await itemsOf(client, storage, workflowId)) ?? [])
        : [
            await jobIn(client, storage, { workflowId, input }),
            ...(await jobsAtServices(client, storage, children)),
          ];
    return { kind: overview.kind, overview, requestsFrom: input?.requestsFrom, jobs, runs };
  }
  const own = [{ namespace: client.options.namespace, job: workflowId }];
  // Temporal no longer has it: the storage says what it was.
  const items = await itemsOf(client, storage, workflowId);
  return { kind: items ? 'batch' : 'job', jobs: items ?? own, runs: [] };
}

/** Undefined when Temporal has no such workflow. Rejects if it has not ended. */
async function endedOverview(client: Client, workflowId: string): Promise<JobOverview | undefined> {
  const found = await findWorkflow(client, workflowId, { readEnding: false });
  if (found === undefined) return undefined;
  if (!('overview' in found))
    throw new ForgetRefused(describeOtherType(workflowId, found.otherType, WORKFLOW_TYPE) ?? '');
  const { overview } = found;
  if (overview.endedAt === undefined) throw running(workflowId, overview.state === 'needs-decision');
  return overview;
}

function running(workflowId: string, isHeld: boolean): ForgetRefused {
  const what = isHeld ? 'waits for a decision, and a task may be paid' : 'is running';
  return new ForgetRefused(
    `${shown(workflowId)} ${what}: end it first with: ${commandOn('cancel', workflowId)}`,
  );
}

/** Without its key nobody can tell which task the job paid for and where its video is. */
async function refuseUnreadable(client: Client, workflowId: string): Promise<void> {
  const describe = () => client.workflow.getHandle(workflowId).describe();
  await inTime(client, describe).catch((error: unknown) => {
    const why = whyNotDecrypted(error);
    if (why === undefined) return;
    throw new ForgetRefused(`What ${shown(workflowId)} has paid for cannot be read here: ${why}`, {
      cause: error,
    });
  });
}

async function jobIn(
  client: Client,
  storage: RemovingStorage,
  { workflowId, input }: { workflowId: string; input: StoredInput | undefined },
): Promise<JobToForget> {
  const job = { namespace: client.options.namespace, job: workflowId, request: requestIn(input) };
  const handle = client.workflow.getHandle(workflowId);
  const result = await inTime(client, () => jobOf(handle).result()).catch((error: unknown) => {
    if (isVideoFailure(error)) return undefined;
    throw error;
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

/** The records of a job with several services have the names of the jobs at them. */
async function jobsAtServices(
  client: Client,
  storage: RemovingStorage,
  children: readonly Execution[],
): Promise<JobToForget[]> {
  const jobs: JobToForget[] = [];
  for (const workflowId of new Set(children.map((child) => child.workflowId))) {
    const overview = await endedOverview(client, workflowId);
    const input = overview && (await readInput(client, overview));
    if (overview) jobs.push(await jobIn(client, storage, { workflowId, input }));
  }
  return jobs;
}

function requestIn({ request }: StoredInput = {}): object | undefined {
  return typeof request === 'object' && request !== null ? request : undefined;
}

/** The items of a batch, but not jobs of their own that have such a name. Undefined when the storage has no such batch. */
async function itemsOf(
  client: Client,
  storage: RemovingStorage,
  batch: string,
): Promise<JobToForget[] | undefined> {
  const claim = await readSmallFile(storage, requestsKey(batch));
  if (claim === undefined) return undefined;
  const items = itemCount(claim, requestsKey(batch));
  const others = await namesWith(client, `${batch}-`, batch);
  const start = fileName(`${batch}-`);
  // Listed once for all items. The file names of long names are cut, and begin otherwise.
  const ids = await recordIds(storage, start.length > LONGEST_START_CHARS ? '' : start);
  const names = Array.from({ length: items }, (_, index) => itemName(batch, index + 1));
  return names
    .filter((job) => !others.has(job))
    .map((job) => ({
      namespace: client.options.namespace,
      job,
      recordIds: ids.get(fileName(job)) ?? [],
    }));
}

const LONGEST_START_CHARS = 180;

function itemCount(claim: string, key: string): number {
  try {
    const { items }: { items?: unknown } = Object(JSON.parse(claim));
    if (typeof items === 'number') return items;
  } catch {}
  throw new ForgetRefused(`${key} in the storage is damaged: repair it, or move it away.`);
}

/** The deliveries of webhooks are workflows of their own. */
async function executionsToForget(client: Client, { runs }: Target) {
  const deliveries = await deliveriesOf(client, runs);
  return [
    ...deliveries.map((one) => ({ ...one, what: 'webhook' as const })),
    ...runs.map((one) => ({ ...one, what: 'execution' as const })),
  ];
}

function whatStays(
  storage: RemovingStorage,
  { kind, overview, requestsFrom, markers }: Target & { markers: readonly string[] },
): string[] {
  const [first] = markers;
  const more = markers.length > 1 ? ` and ${markers.length - 1} more` : '';
  const task = kind === 'job' && overview?.taskId ? `, as task ${shown(overview.taskId)}` : '';
  return [
    first && `${first}${more}: marked as forgotten, so that the same name and request are not paid again.`,
    typeof requestsFrom === 'string' && `${requestsFrom}: another batch may have the same requests.`,
    overview &&
      "Temporal's lists may show it for some minutes, and its archive and backups keep what they have.",
    // Only a bucket can make links.
    storage.link && 'Old versions of the objects, if the bucket keeps versions.',
    'Logs and traces that were written, with the name and the task.',
    `What the service itself keeps${task}: the request and the video.`,
  ].filter((sentence) => typeof sentence === 'string');
}
