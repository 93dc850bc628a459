import { text } from 'node:stream/consumers';
import type { Client } from '@temporalio/client';
import { type ItemResult, itemName, parseResults, requestsKey, resultsKey } from '../contract/batch';
import { shown } from '../contract/clean-text';
import type { FailureType } from '../contract/failure-table';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobResult } from '../contract/job';
import { commandOn } from '../contract/job-commands';
import { describeOtherType } from '../contract/job-identity';
import { LOST_SUBMIT_MEMO, WORKFLOW_TYPE } from '../contract/names';
import { whyNotDecrypted } from '../contract/not-decrypted';
import type { JobOverview } from '../contract/overview';
import { parseRequest } from '../contract/request';
import { type FailureDetails, isVideoFailure } from '../contract/video-failure';
import {
  canRemove,
  type ForgottenPart,
  type ForgottenParts,
  type FoundRecord,
  forgetFiles,
  forgetImage,
  type JobToForget,
  type KeptPart,
  orStopped,
  type RemovingStorage,
  recordKeys,
  recordsOf,
} from '../retention';
import { fileName, isStored, type VideoStorage } from '../storage';
import { deleteExecution, deliveriesOf, type Execution, executionsOf, namesWith } from './executions';
import { ForgetRefused, NothingToForget } from './forget-refused';
import { findWorkflow, inTime } from './job-overview';
import { listJobs } from './list-jobs';
import { readInput, type StoredInput } from './stored-input';
import { jobOf } from './video-job';
import { whatStays } from './what-stays';

/** Options for forgetting a job. */
export interface ForgetOptions {
  /** Only says what would be removed. */
  dryRun?: boolean;
  /**
   * Whether a marker stays in place of each record that may name a paid task, so that the same name and request are refused and
   * not paid again. It has no content, but the name of the job is in its file name. Default: true.
   */
  keepMarker?: boolean;
}

/** What was removed of a job or a batch, and what was not. */
export interface ForgottenJob {
  workflowId: string;
  kind: 'job' | 'batch' | 'item';
  dryRun: boolean;
  removed: ForgottenPart[];
  kept: KeptPart[];
  /** What nobody can remove from here, one sentence each. */
  stays: string[];
}

/** What there is of a name. */
interface Target {
  workflowId: string;
  kind: ForgottenJob['kind'];
  /** Of the batch, for an item. Undefined when Temporal has forgotten it. */
  overview: JobOverview | undefined;
  input: StoredInput | undefined;
  jobs: JobToForget[];
  runs: Execution[];
}

const ITEM = /^(.+)-([1-9]\d{0,8})$/s;

/**
 * Removes what can be removed of an ended job, batch or item. The order is what makes it safe to stop anywhere: files first, then
 * the records that name them, then the executions, the current one last. What finds the rest is still there until the end.
 */
export async function forgetJob(
  client: Client,
  storage: VideoStorage,
  workflowId: string,
  { dryRun = false, keepMarker = true }: ForgetOptions = {},
): Promise<ForgottenJob> {
  if (!isWorkflowId(workflowId)) throw new ForgetRefused(`The name of a job ${WORKFLOW_ID_RULE}.`);
  if (!canRemove(storage))
    throw new ForgetRefused('This storage cannot list and remove files, so nothing can be forgotten.');
  const target = await findTarget(client, storage, workflowId);
  if (keepMarker && target.kind !== 'item') await refuseUnreadable(client, target);
  refuseOtherStorage(storage, target);
  const options = { dryRun, keepMarker };
  const done: ForgottenParts = { removed: [], kept: [], markers: [] };
  const add = ({ removed, kept, markers = [] }: Partial<ForgottenParts>) => {
    done.removed.push(...(removed ?? []));
    done.kept.push(...(kept ?? []));
    done.markers.push(...markers);
  };
  for (const job of target.jobs) {
    const records = await recordsOf(storage, job);
    // Before the records, which name the image.
    add(await forgetImagesOf(client, storage, records, target, { dryRun }));
    add(await forgetFiles(storage, job, records, options));
  }
  if (target.kind === 'batch') add(await forgetBatchFiles(client, storage, target, options));
  if (target.kind !== 'item') add(await forgetExecutions(client, target.runs, { dryRun }));
  const { removed, kept, markers } = done;
  if (removed.length + kept.length + markers.length === 0) throw new NothingToForget(noSuch(workflowId));
  const stays = await whatStays(storage, { ...target, markers });
  return { workflowId, kind: target.kind, dryRun, removed, kept, stays };
}

const noSuch = (workflowId: string) =>
  `There is no job ${shown(workflowId)}, neither in Temporal nor in the storage.`;

async function findTarget(client: Client, storage: RemovingStorage, workflowId: string): Promise<Target> {
  const overview = await endedOverview(client, workflowId);
  if (overview) {
    const runs = await executionsOf(client, workflowId);
    const open = runs.find(({ isOpen }) => isOpen);
    if (open) throw running(workflowId, false);
    const input = await readInput(client, overview).catch(() => undefined);
    const jobs =
      overview.kind === 'batch'
        ? await itemsOf(client, storage, workflowId)
        : [await jobIn(client, overview, input)];
    return { workflowId, kind: overview.kind, overview, input, jobs, runs };
  }
  const [, batch = '', number = ''] = ITEM.exec(workflowId) ?? [];
  const ofBatch = batch === '' ? undefined : await endedOverview(client, batch, workflowId);
  const { namespace } = client.options;
  if (ofBatch?.kind === 'batch') {
    const results = await readResults(storage, batch);
    const result = results.find(({ item }) => item === Number(number));
    const jobs = [{ namespace, job: workflowId, ...knownOf(result) }];
    return { workflowId, kind: 'item', overview: ofBatch, input: undefined, jobs, runs: [] };
  }
  // Temporal has forgotten it: the storage says what it was.
  const isBatch =
    (await isStored(storage, requestsKey(workflowId))) || (await isStored(storage, resultsKey(workflowId)));
  const jobs = isBatch ? await itemsOf(client, storage, workflowId) : [{ namespace, job: workflowId }];
  const kind = isBatch ? 'batch' : 'job';
  return { workflowId, kind, overview: undefined, input: undefined, jobs, runs: [] };
}

/** Undefined when Temporal has no such workflow. Rejects if it has not ended. */
async function endedOverview(
  client: Client,
  workflowId: string,
  named = workflowId,
): Promise<JobOverview | undefined> {
  const found = await findWorkflow(client, workflowId, { readEnding: false });
  if (found === undefined) return undefined;
  if (!('overview' in found)) {
    if (named !== workflowId) return undefined;
    throw new ForgetRefused(describeOtherType(workflowId, found.otherType, WORKFLOW_TYPE) ?? '');
  }
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

async function jobIn(
  client: Client,
  { workflowId, taskId }: JobOverview,
  input: StoredInput | undefined,
): Promise<JobToForget> {
  const { namespace } = client.options;
  const handle = client.workflow.getHandle(workflowId);
  const ending = await inTime(client, () => jobOf(handle).result()).then(
    (result: JobResult) => ({ video: result.video, extras: result.extras, taskId: result.taskId }),
    (error: unknown) => (isVideoFailure(error) ? knownOfFailure(error.type, error.details) : {}),
  );
  const job = { namespace, job: workflowId, ...(taskId !== undefined && { taskId }), ...ending };
  const mayHavePaid = job.taskId !== undefined || (await wasHeld(client, workflowId));
  return { ...job, ...(mayHavePaid && { paidRequest: requestIn(input) }) };
}

/** A memo that cannot be decoded here may say so. */
async function wasHeld(client: Client, workflowId: string): Promise<boolean> {
  const describe = () => client.workflow.getHandle(workflowId).describe();
  return inTime(client, describe).then(
    ({ memo }) => memo?.[LOST_SUBMIT_MEMO] !== undefined,
    () => true,
  );
}

/** As the submit read it, for the digest to be the same. */
function requestIn(input: StoredInput | undefined): object | undefined {
  const { request } = input ?? {};
  if (typeof request !== 'object' || request === null) return undefined;
  const parsed = parseRequest(request, Object.keys(request));
  return parsed.ok ? parsed.request : undefined;
}

/** The items of a batch, but not jobs of their own that have such a name. */
async function itemsOf(client: Client, storage: RemovingStorage, batch: string): Promise<JobToForget[]> {
  const { namespace } = client.options;
  const results = new Map((await readResults(storage, batch)).map((result) => [result.item, result]));
  const claim = await readParsed(storage, requestsKey(batch), (content) => JSON.parse(content || '{}'));
  const { items: claimed }: { items?: unknown } = Object(claim);
  const items = Math.max(Number(claimed) || 0, ...results.keys(), 0);
  const others = await namesWith(client, `${batch}-`);
  const keys = await recordKeysOf(storage, batch);
  return Array.from({ length: items }, (_, index) => index + 1).flatMap((item) => {
    const job = itemName(batch, item);
    return others.has(job)
      ? []
      : [
          {
            namespace,
            job,
            ...knownOf(results.get(item)),
            recordKeys: keys?.get(fileName(job)) ?? (keys && []),
          },
        ];
  });
}

function knownOf(result: ItemResult | undefined): Partial<JobToForget> {
  if (result === undefined) return {};
  if (result.outcome === 'succeeded')
    return { video: result.video, extras: result.extras, taskId: result.taskId };
  return knownOfFailure(result.failure, result.details);
}

/** The download activity says at the end where it kept a bad file. In other messages the words are those of a service. */
export function knownOfFailure(
  type: FailureType,
  { taskId, message = '' }: Pick<FailureDetails, 'taskId' | 'message'>,
): Partial<JobToForget> {
  const said = type === 'VideoCorrupt' ? message : '';
  const [, badUri] = /.*the bad file is stored at (\S+\.bad)[.;]?(?:\s|$)/s.exec(said) ?? [];
  return { ...(taskId !== undefined && { taskId }), ...(badUri !== undefined && { badUri }) };
}

/** Listed once for all items. The file names of long names are cut, and are listed one by one. */
async function recordKeysOf(
  storage: RemovingStorage,
  batch: string,
): Promise<Map<string, string[]> | undefined> {
  const start = fileName(`${batch}-`);
  return start.length > LONGEST_START_CHARS ? undefined : recordKeys(storage, start);
}

const LONGEST_START_CHARS = 180;

function readResults(storage: RemovingStorage, batch: string): Promise<ItemResult[]> {
  return readParsed(storage, resultsKey(batch), parseResults);
}

async function readParsed<T>(
  storage: RemovingStorage,
  key: string,
  parse: (content: string) => T,
): Promise<T> {
  const stored = await storage.read(key);
  try {
    return parse(stored ? await text(stored) : '');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ForgetRefused(`${key} in the storage is damaged: repair it, or move it away.`, {
      cause: error,
    });
  }
}

/** Without its key nobody can tell which task the job paid for and where its video is, and no marker can be made. */
async function refuseUnreadable(client: Client, { workflowId, overview }: Target): Promise<void> {
  if (overview === undefined) return;
  const describe = () => client.workflow.getHandle(workflowId).describe();
  const error = await inTime(client, describe).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const why = whyNotDecrypted(error);
  if (why === undefined) return;
  throw new ForgetRefused(
    `What ${shown(workflowId)} has paid for cannot be read here, so it could be paid again: ${why} If the key is gone for good, --no-marker removes what is found.`,
    { cause: error },
  );
}

/** With the settings of another worker, the video would stay while everything that leads to it goes. */
function refuseOtherStorage(storage: RemovingStorage, { workflowId, jobs }: Target): void {
  const elsewhere = jobs.find(({ video }) => video && storage.keyOf?.(video.uri) === undefined);
  if (elsewhere?.video === undefined) return;
  throw new ForgetRefused(
    `The video of ${shown(workflowId)} is ${elsewhere.video.uri}, which is not in the storage of these settings: set VIDEOGEN_STORAGE as it is for the worker.`,
  );
}

async function forgetImagesOf(
  client: Client,
  storage: RemovingStorage,
  records: readonly FoundRecord[],
  { workflowId, input }: Target,
  options: { dryRun: boolean },
): Promise<Partial<ForgottenParts>> {
  const requests = [...records.map(({ content }) => content.request), Object(input?.request)];
  const references = new Set(
    requests.map((request) => request?.image_url).filter((url) => typeof url === 'string'),
  );
  const done = { removed: [] as ForgottenPart[], kept: [] as KeptPart[] };
  for (const reference of references) {
    const image = {
      reference,
      ownRecords: records.map(({ key }) => key),
      neededBy: () => runningJobWith(client, reference, workflowId),
    };
    const { removed, kept } = await forgetImage(storage, image, options);
    done.removed.push(...removed);
    done.kept.push(...kept);
  }
  return done;
}

/** So many inputs of running jobs are read. */
const MOST_RUNNING = 200;

/** Why a file may still be needed: a job that waits for its submit has no record yet, but its input names the file. */
async function runningJobWith(client: Client, name: string, but: string): Promise<string | undefined> {
  let seen = 0;
  const states = ['running', 'needs-decision'] as const;
  for await (const job of listJobs(client, { states, limit: MOST_RUNNING })) {
    if (job.workflowId === but) continue;
    const input = await readInput(client, job).catch(() => undefined);
    const mayName = input === undefined || 'requestsFrom' in input || JSON.stringify(input).includes(name);
    if (mayName) return `${shown(job.workflowId)} is running and may need it`;
    seen += 1;
  }
  return seen < MOST_RUNNING ? undefined : 'many jobs are running, and one may need it';
}

/** What `videogen batch` stores for its worker. A file of the caller's own has another name. */
const OWN_REQUESTS = /^batches\/requests-[0-9a-f]{32}\.jsonl$/;

async function forgetBatchFiles(
  client: Client,
  storage: RemovingStorage,
  { workflowId, input }: Target,
  { dryRun, keepMarker }: Required<ForgetOptions>,
): Promise<ForgottenParts> {
  const done: ForgottenParts = { removed: [], kept: [], markers: [] };
  const remove = async (part: ForgottenPart) => {
    if (!(await isStored(storage, part.where))) return;
    if (!dryRun) await orStopped(part, () => storage.removeKey(part.where));
    done.removed.push(part);
  };
  const from = input?.requestsFrom;
  if (typeof from === 'string') {
    const part = { what: 'requests' as const, where: from };
    const why = OWN_REQUESTS.test(from)
      ? await runningJobWith(client, from, workflowId)
      : 'it is a file of yours, which the batch only read';
    if (why === undefined) await remove(part);
    else done.kept.push({ ...part, why });
  }
  await remove({ what: 'results', where: resultsKey(workflowId) });
  // It has the number of items and a digest. Without it, a batch of Temporal's memory alone could not be found again.
  if (!keepMarker) await remove({ what: 'requests', where: requestsKey(workflowId) });
  else if (await isStored(storage, requestsKey(workflowId))) done.markers.push(requestsKey(workflowId));
  return done;
}

async function forgetExecutions(
  client: Client,
  runs: readonly Execution[],
  { dryRun }: { dryRun: boolean },
): Promise<Partial<ForgottenParts>> {
  const removed: ForgottenPart[] = [];
  const parts = [
    ...(await deliveriesOf(client, runs)).map((one) => ({ ...one, what: 'webhook' as const })),
    ...runs.map((one) => ({ ...one, what: 'execution' as const })),
  ];
  for (const { what, workflowId, runId } of parts) {
    if (!dryRun) await deleteExecution(client, { workflowId, runId });
    removed.push({ what, where: `${workflowId} (run ${runId})` });
  }
  return { removed };
}
