import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { itemName, requestsKey, resultsKey } from '../contract/batch';
import { cleanText, jsonIn, shown } from '../contract/clean-text';
import { errorCode, GRPC_STATUS } from '../contract/error-code';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { commandOn } from '../contract/lost-submit';
import {
  BATCH_WORKFLOW_TYPE,
  childName,
  FALLBACK_WORKFLOW_TYPE,
  WEBHOOK_WORKFLOW_TYPE,
  webhookPrefix,
} from '../contract/names';
import { servicesOf } from '../contract/service-choice';
import {
  asStorageFault,
  canRemove,
  fileName,
  isStored,
  type JobName,
  JobRecord,
  type RemovingStorage,
  readSmallFile,
  recordIds,
  type VideoStorage,
} from '../storage';
import { findOverview, readStart } from './job-overview';
import type { JobOverview } from './overview';
import { ForgetRefused } from './refusals';
import {
  describeRun,
  inTime,
  isNotThere,
  type ListedRun,
  listRuns,
  nameIs,
  nameStartsWith,
  OF_OUR_TYPES,
  runOf,
} from './temporal-calls';

/** Something that a job has left: a file in the storage, or an execution in Temporal. */
export interface ForgottenPart {
  what: 'video' | 'sidecar' | 'record' | 'results' | 'webhook' | 'execution';
  where: string;
}

export interface KeptPart extends ForgottenPart {
  why: string;
}

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

/** They start jobs, at several services if their input says so. */
const PARENTS: readonly unknown[] = [BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE];

/** The file names of longer names are cut, and end otherwise. */
const SURE_PREFIX_CHARS = 160;

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
  const overview = await findOverview(client, workflowId);
  const runs = overview ? await endedRuns(client, overview) : [];
  // When Temporal no longer has it, the storage says what it was.
  const items = overview?.kind === 'job' ? undefined : await itemsOf(client, storage, workflowId);
  const kind = overview?.kind ?? (items ? 'batch' : 'job');
  const isParent = overview && PARENTS.includes(runs.at(-1)?.type);
  const services = isParent ? servicesOf((await readStart(client, overview)).input) : [];
  // The records of jobs with several services have the names of the jobs at them.
  const jobs = (items ?? [workflowId]).flatMap((job) => [
    job,
    ...services.map((service) => childName(job, service)),
  ]);
  const removals = new Removals(dryRun);
  const ids = await recordIds(storage, fileName(workflowId).slice(0, SURE_PREFIX_CHARS));
  let isOnRecord = items !== undefined;
  for (const job of jobs) {
    const name = { namespace: client.options.namespace, job };
    isOnRecord = (await forgetFiles(storage, name, ids.get(fileName(job)) ?? [], removals)) || isOnRecord;
  }
  if (!isOnRecord) refuseUnrecorded(workflowId, overview);
  const results = resultsKey(workflowId);
  if (kind === 'batch' && (await isStored(storage, results)))
    await removeKey(storage, { what: 'results', where: results }, removals);
  for (const run of runs) {
    const what = run.type === WEBHOOK_WORKFLOW_TYPE ? 'webhook' : 'execution';
    const where = `${run.workflowId} (run ${run.runId})`;
    await removals.remove({ what, where }, () => deleteRun(client, run));
  }
  const parts = [...removals.parts.values()];
  const removed = parts.filter(({ why }) => why === undefined);
  const kept = parts.filter((part): part is KeptPart => part.why !== undefined);
  return { workflowId, kind, dryRun, removed, kept, stays: whatStays(kind, overview) };
}

/** Everything of a name that has a record is in the storage of its worker. */
function refuseUnrecorded(workflowId: string, overview: JobOverview | undefined): void {
  const name = shown(workflowId);
  if (overview === undefined)
    throw new ForgetRefused(`There is no job ${name}, neither in Temporal nor in the storage.`);
  // A video would stay while everything that leads to it goes. A job that failed without a record has sent nothing.
  if (overview.state === 'succeeded' || overview.counts)
    throw new ForgetRefused(
      `${name} has no record in the storage of these settings: set VIDEOGEN_STORAGE as it is for the worker.`,
    );
}

/** The deliveries of its webhooks, what it has started, and its own runs, the current one last. */
async function endedRuns(
  client: Client,
  { workflowId, runId, endedAt, state }: JobOverview,
): Promise<ListedRun[]> {
  if (endedAt === undefined) throw running(workflowId, state === 'needs-decision');
  const runs = await runsBelow(client, workflowId);
  for await (const run of listRuns(client, `${nameIs('WorkflowId', workflowId)} AND ${OF_OUR_TYPES}`))
    if (run.workflowId === workflowId && run.runId !== runId) runs.push(run);
  const open = runs.find(({ isRunning }) => isRunning);
  if (open) throw running(open.workflowId, false);
  // Lists lag behind.
  const current = (await describeRun(client, { workflowId, runId }))?.workflowExecutionInfo;
  if (current) runs.push(runOf(current));
  const deliveries: ListedRun[] = [];
  for (const first of new Set(runs.map(({ firstRunId }) => firstRunId)))
    for await (const run of listRuns(client, nameStartsWith('WorkflowId', webhookPrefix(first))))
      deliveries.push(run);
  return [...deliveries, ...runs];
}

function running(workflowId: string, isHeld: boolean): ForgetRefused {
  const what = isHeld ? 'waits for a decision, and a task may be paid' : 'is running';
  return new ForgetRefused(
    `${shown(workflowId)} ${what}: end it first with: ${commandOn('cancel', workflowId)}`,
  );
}

/** Items, and jobs at several services. */
async function runsBelow(client: Client, parent: string): Promise<ListedRun[]> {
  const runs: ListedRun[] = [];
  for await (const run of listRuns(client, `${nameIs('ParentWorkflowId', parent)} AND ${OF_OUR_TYPES}`))
    if (run.parentId === parent) runs.push(run);
  for (const name of new Set(runs.map(({ workflowId }) => workflowId)))
    runs.unshift(...(await runsBelow(client, name)));
  return runs;
}

/** The items of a batch, but not jobs of their own that have such a name. Undefined when the storage has no such batch. */
async function itemsOf(
  client: Client,
  storage: RemovingStorage,
  batch: string,
): Promise<string[] | undefined> {
  const claim = await readSmallFile(storage, requestsKey(batch));
  if (claim === undefined) return undefined;
  const { items }: { items?: unknown } = Object(jsonIn(claim));
  if (typeof items !== 'number')
    throw new ForgetRefused(`${requestsKey(batch)} in the storage is damaged: repair it, or move it away.`);
  const others = new Set<string>();
  for await (const run of listRuns(client, nameStartsWith('WorkflowId', `${batch}-`)))
    if (run.parentId !== batch) others.add(run.workflowId);
  const names = Array.from({ length: items }, (_, index) => itemName(batch, index + 1));
  return names.filter((name) => !others.has(name));
}

/** Says why it stays. Temporal would end a run that is open: only ended ones, and deliveries, come here. */
async function deleteRun(client: Client, { workflowId, runId }: ListedRun): Promise<string | undefined> {
  const { namespace } = client.options;
  const execution = { namespace, workflowExecution: { workflowId, runId } };
  try {
    await inTime(client, () => client.workflowService.deleteWorkflowExecution(execution));
  } catch (error) {
    const code = errorCode(error);
    if (code === GRPC_STATUS.permissionDenied || code === GRPC_STATUS.unimplemented)
      return `Temporal does not allow it (${cleanText(String(error))}); the retention of the namespace ends it`;
    if (!isNotThere(error)) throw error;
  }
  return undefined;
}

function whatStays(kind: ForgottenJob['kind'], overview: JobOverview | undefined): string[] {
  const task = overview?.taskId ? `, as task ${shown(overview.taskId)}` : '';
  return [
    'Its records in jobs/, marked as forgotten, so that the same name and request are not paid again.',
    ...(kind === 'batch' ? ['A file with its requests: another batch may have the same requests.'] : []),
    "Temporal's lists may show it for some minutes. Archives, backups and old versions in a bucket stay.",
    'Logs and traces that were written, with the name and the task.',
    `What the service itself keeps${task}: the request and the video.`,
  ];
}

/** What was removed, or would be, and what stays. */
class Removals {
  readonly parts = new Map<string, ForgottenPart & Partial<KeptPart>>();

  constructor(private readonly dryRun: boolean = false) {}

  /** `remove` may find that the part stays, and say why. */
  async remove(part: ForgottenPart, remove: () => Promise<unknown>): Promise<void> {
    const why = this.dryRun ? undefined : await remove();
    this.parts.set(part.where, { ...part, ...(typeof why === 'string' && { why }) });
  }

  /** A name may have stored several videos under one key: the one that is there may be found before or after. */
  keep(part: ForgottenPart, why: string): void {
    if (!this.parts.has(part.where)) this.parts.set(part.where, { ...part, why });
  }
}

/** The video that a job stored for its task. */
interface VideoOfTask extends JobName {
  taskId: string;
  key: string;
  sha256: string;
}

/**
 * The videos of a job, then the records that name them: so a run that is killed anywhere is finished by the next. False if the
 * job has no record. One that was forgotten before has.
 */
async function forgetFiles(
  storage: RemovingStorage,
  name: JobName,
  recordIds: readonly string[],
  removals: Removals,
): Promise<boolean> {
  const records = [];
  for (const id of recordIds) {
    const record = new JobRecord(storage, name, id);
    const recorded = await record.read();
    // Several namespaces may share a storage.
    if (recorded.entries[0]?.namespace === name.namespace) records.push({ record, recorded });
  }
  for (const { recorded } of records) {
    if (recorded.stored === undefined) continue;
    const { key, taskId, video } = recorded.stored;
    await removeVideo(storage, { ...name, key, taskId, sha256: video.sha256 }, removals);
  }
  for (const { record, recorded } of records) {
    if (recorded.entries.every(({ event }) => event === 'forgotten')) continue;
    await removals.remove({ what: 'record', where: record.key }, () => record.forget(storage));
  }
  return records.length > 0;
}

/**
 * Removes the video of a task and its sidecar, if they are this task's: another job may have stored a video under the key since,
 * and anybody may have put a file next to it. Repeated after a kill, it finishes.
 */
export async function removeVideo(
  storage: RemovingStorage,
  video: VideoOfTask,
  removals: Removals = new Removals(),
): Promise<void> {
  const { key, taskId, job, namespace, sha256 } = video;
  // Anybody may have written it.
  const content = await readSmallFile(storage, `${key}.json`);
  const sidecar: Record<string, unknown> = Object(jsonIn(content ?? ''));
  const isOwnSidecar =
    sidecar.taskId === taskId && sidecar.workflowId === job && sidecar.namespace === namespace;
  // A sidecar of other bytes was left behind by a video that is gone, and says nothing about this one.
  const isShared =
    !isOwnSidecar && typeof sidecar.taskId === 'string' && Object(sidecar.video).sha256 === sha256;
  const stored = await digestOf(storage, key);
  const part: ForgottenPart = { what: 'video', where: key };
  if (stored === sha256 && !isShared) await removeKey(storage, part, removals);
  else if (stored === sha256)
    removals.keep(part, `${cleanText(String(sidecar.workflowId))} has the same file`);
  else if (stored !== undefined) removals.keep(part, 'another file is stored there now');
  if (isOwnSidecar) await removeKey(storage, { what: 'sidecar', where: `${key}.json` }, removals);
}

const removeKey = (storage: RemovingStorage, part: ForgottenPart, removals: Removals) =>
  removals.remove(part, () => storage.removeKey(part.where));

/** The SHA-256 of the file under a key; undefined when there is none. */
function digestOf(storage: RemovingStorage, key: string): Promise<string | undefined> {
  return asStorageFault(async () => {
    const stored = await storage.read(key);
    if (stored === undefined) return undefined;
    const hash = createHash('sha256');
    for await (const chunk of stored) hash.update(chunk);
    return hash.digest('hex');
  });
}
