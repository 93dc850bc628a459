import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { type Key, type Run, readRuns } from './histories';
import { type Ledger, type LedgerTask, type ReceivedWebhook, readLedger } from './ledger';

/*
 * It shares no code with the product. It reads what the services wrote down, the files in the storage, Temporal's histories
 * and what the receiver of the webhooks got, and compares them.
 */

/** One video that somebody asked for. */
export interface Wanted {
  prompt: string;
  /** The name of its job; of an item of a batch that of the item. */
  name: string;
  kind: 'single' | 'gateway' | 'fallback' | 'batch';
  resubmits: boolean;
  /** What the caller was told in the end; an item of a batch has no caller. */
  told?: { kind: 'video'; taskId: string; sha256: string } | { kind: 'failure'; type: string } | undefined;
}

export interface Evidence {
  folder: string;
  storage: string;
  temporalAddress: string;
  keys: readonly Key[];
  webhooks: readonly ReceivedWebhook[];
  /** The bundle of workflows that the histories must fit. */
  bundle: string;
}

export interface Verdict {
  flaws: string[];
  table: Record<string, number>;
  lost: number;
  paidTwice: number;
  corrupt: number;
  partFiles: number;
}

const NOTHING = {
  lost: 0,
  paidTwice: 0,
  corrupt: 0,
  paidAgainByPolicy: 0,
  heldAsLost: 0,
  videos: 0,
  deleted: 0,
};

export async function judge(evidence: Evidence, wanted: readonly Wanted[]): Promise<Verdict> {
  const { folder, storage } = evidence;
  const ledger = readLedger(folder);
  const runs = await readRuns(evidence.temporalAddress, evidence.keys);
  const flaws: string[] = [];
  const counts = { ...NOTHING };
  const failures = new Map<string, number>();
  const runsOf = groupByPrompt(runs, wanted);
  const referred = new Map<string, Set<string>>();
  const byName = new Map(runs.map((run) => [run.workflowId, run]));

  for (const one of wanted) {
    const own = runsOf.get(one.prompt) ?? [];
    const flaw = (text: string) => flaws.push(`${one.name} (${one.kind}, "${one.prompt}"): ${text}`);
    if (one.told?.kind === 'failure' && one.told.type === DELETED) {
      counts.deleted++;
      if (recordsOf(storage, one.name).every(({ event }) => event !== 'forgotten'))
        flaw('was deleted, and its record does not say so');
      continue;
    }
    const end = judgeEnd(one, own, flaw);
    if (end === 'video') counts.videos++;
    else if (end !== undefined) failures.set(end, (failures.get(end) ?? 0) + 1);
    judgeVideos(one, own, ledger, { storage, counts, flaw });
    judgePayments(one, own, ledger, { counts, flaw, storage });
    for (const run of own)
      if (run.status === 'COMPLETED' && typeof run.result?.taskId === 'string')
        add(referred, run.result.taskId, one.name);
  }
  for (const [taskId, names] of referred)
    if (names.size > 1) flaws.push(`the task ${taskId} is the video of ${[...names].join(' and ')}`);
  const prompts = new Set(wanted.map(({ prompt }) => prompt));
  for (const { taskId, prompt } of ledger.tasks)
    if (!prompts.has(prompt)) flaws.push(`the task ${taskId} is for "${prompt}", which nobody wants`);
  for (const { prompt, authorized } of ledger.posts)
    if (!authorized) flaws.push(`a POST for "${prompt}" had no right key`);

  flaws.push(...judgeBatches(wanted, runs, storage), ...judgeWebhooks(runs, byName, evidence.webhooks));
  flaws.push(...judgeRunning(runs), ...(await judgeReplays(runs, evidence.bundle)));
  const partFiles = filesIn(storage).filter((file) => file.endsWith('.part')).length;
  const { lost, paidTwice, corrupt, ...more } = counts;
  const refusals = ledger.posts.filter(({ status = 0 }) => status >= 400).length;
  const decided = runs.flatMap(({ decisions }) => [...decisions]);
  const table = {
    'videos wanted': wanted.length,
    'videos stored': more.videos,
    ...Object.fromEntries([...failures].map(([type, count]) => [`ended as ${type}`, count])),
    'deleted by their callers': more.deleted,
    'runs of workflows': runs.length,
    'POSTs refused': refusals,
    'tasks paid': ledger.tasks.length,
    'paid again by policy': more.paidAgainByPolicy,
    'held as lost at the end': more.heldAsLost,
    decisions: new Set(decided.map(([id]) => id)).size,
    webhooks: new Set(evidence.webhooks.map(({ id }) => id)).size,
  };
  return { flaws, table, lost, paidTwice, corrupt, partFiles };
}

function add<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

/** Its caller deleted it at the gateway, and nothing is left of it but that it was there. */
const DELETED = 'Deleted';
const JOB_TYPES = ['generateVideo', 'generateVideoWithFallback'];

/** Jobs that adopt a task have no request: they are retries, by their names. */
function groupByPrompt(runs: readonly Run[], wanted: readonly Wanted[]): Map<string, Run[]> {
  const byName = new Map(wanted.map(({ name, prompt }) => [name, prompt]));
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    if (!JOB_TYPES.includes(run.type)) continue;
    const { prompt = byName.get(run.workflowId.replace(/-retry-\d+$/, '')) } = Object(run.input.request);
    if (prompt !== undefined) groups.set(prompt, [...(groups.get(prompt) ?? []), run]);
  }
  return groups;
}

/** The last run of each name: those before it were reset, terminated or started again. */
function lastRuns(own: readonly Run[]): Run[] {
  return [...new Map(own.map((run) => [run.workflowId, run])).values()];
}

/** One outcome: a video, or an explained failure; and its caller was told so. */
function judgeEnd(
  { told, kind }: Wanted,
  own: readonly Run[],
  flaw: (text: string) => void,
): string | undefined {
  const last = lastRuns(own);
  if (last.length === 0) return void flaw('was never started');
  const tasks = new Set(
    own.flatMap(({ status, result }) => (status === 'COMPLETED' ? String(result?.taskId) : [])),
  );
  if (tasks.size > 1) flaw(`has several outcomes: ${[...tasks].join(', ')}`);
  const [task] = tasks;
  if (kind !== 'batch' && told === undefined) flaw('its caller was told nothing');
  if (task !== undefined) {
    if (told?.kind === 'failure') flaw(`has a video, and its caller was told ${told.type}`);
    if (told?.kind === 'video' && told.taskId !== task)
      flaw(`has the task ${task}, and its caller was told ${told.taskId}`);
    return 'video';
  }
  if (told?.kind === 'video') flaw('has no video, and its caller was told that it has one');
  // The last to end says how.
  const final = last.at(-1);
  const type = final?.failure?.type ?? final?.status ?? '';
  if (final?.status === 'FAILED' && !/^videogen\.\w+$/.test(type))
    flaw(`failed without an explanation: ${type}`);
  if (final?.status === 'FAILED' && final.failure?.message === '') flaw('failed without a message');
  return type.replace('videogen.', '');
}

interface Judging {
  storage: string;
  counts: typeof NOTHING;
  flaw: (text: string) => void;
}

/** Every success is a file whose bytes are those of a task that was made for this prompt. */
function judgeVideos(
  { prompt, told }: Wanted,
  own: readonly Run[],
  ledger: Ledger,
  { counts, flaw, storage }: Judging,
): void {
  for (const { status, result, workflowId } of own) {
    if (status !== 'COMPLETED' || result === undefined) continue;
    const corrupt = (text: string) => {
      counts.corrupt++;
      flaw(text);
    };
    const { uri, sha256, bytes } = Object(result.video);
    const task = ledger.tasks.find(({ taskId }) => taskId === result.taskId);
    if (task?.prompt !== prompt) corrupt(`${workflowId} has the task ${result.taskId} of "${task?.prompt}"`);
    const path = fileURLToPath(uri);
    if (!path.startsWith(storage)) corrupt(`${uri} is outside the storage`);
    if (!existsSync(path)) {
      corrupt(`${uri} is not there`);
      continue;
    }
    const stored = readFileSync(path);
    const found = createHash('sha256').update(stored).digest('hex');
    if (found !== sha256 || stored.length !== bytes) corrupt(`${uri} is not what ${workflowId} says it is`);
    if (found !== ledger.videos.get(String(result.taskId))) corrupt(`${uri} is not what the service made`);
    if (told?.kind === 'video' && told.sha256 !== found)
      corrupt(`its caller got ${told.sha256}, not ${found}`);
  }
}

/** No POST without permission; every paid task is referred to, or held as lost. */
function judgePayments(
  { prompt, resubmits }: Wanted,
  own: readonly Run[],
  ledger: Ledger,
  { counts, flaw, storage }: Judging,
): void {
  const tasks = ledger.tasks.filter((task) => task.prompt === prompt).sort((a, b) => a.atMs - b.atMs);
  const posts = ledger.posts.filter((post) => post.prompt === prompt);
  const decisions = new Map(own.flatMap((run) => [...run.decisions]));
  const allowed = [...decisions.values()].filter((decision) => decision === 'resubmit').length;
  for (const service of new Set(posts.map((post) => post.service))) {
    const keys = new Set(posts.filter((post) => post.service === service).map(({ key }) => key));
    if (keys.size > 1) flaw(`the POSTs to ${service} had ${keys.size} keys`);
  }
  // A task is a POST that may have paid: the one after it needs a decision or the policy, whether it was refused or not.
  const refused = posts.filter(({ status = 0 }) => status >= 400);
  const inOrder = [
    ...tasks.map(({ atMs }) => ({ atMs, pays: true })),
    ...refused.map(({ atMs }) => ({ atMs, pays: false })),
  ].sort((one, other) => one.atMs - other.atMs);
  const again = inOrder.slice(1).filter((_, index) => inOrder[index]?.pays).length;
  if (!resubmits && again > allowed)
    flaw(`${again} POSTs followed one that paid, and ${allowed} were decided: ${story(tasks, posts)}`);
  const further = tasks.slice(1);
  if (new Set(tasks.map(({ service }) => service)).size > 1) {
    counts.paidTwice++;
    flaw(`two services were paid: ${story(tasks, posts)}`);
  } else if (resubmits) counts.paidAgainByPolicy += further.length;
  else if (further.length > 0) {
    // The operator says `resubmit` only when the service has no task, so that whoever is paid again was paid late.
    counts.paidTwice += further.length;
    flaw(`was paid ${tasks.length} times: ${story(tasks, posts)}`);
  }
  const known = referencesIn(own, storage);
  const isHeld = lastRuns(own).some(
    ({ failure, status, memo }) =>
      failure?.type === 'videogen.SubmitUnconfirmed' ||
      // Nobody is asked where the policy is to resubmit. If that was refused, the failure says that a task may exist.
      (resubmits && failure?.details.mayHaveTask === true) ||
      (status === 'RUNNING' && memo.lostSubmitSince !== undefined && memo.taskId === undefined),
  );
  for (const { taskId } of tasks) {
    if (known.has(taskId)) continue;
    if (isHeld) counts.heldAsLost++;
    else if (!resubmits || !known.hasAny) {
      counts.lost++;
      flaw(`nobody refers to its paid task ${taskId}: ${story(tasks, posts)}`);
    }
  }
}

/** The tasks that Temporal or the records in the storage name for a job. */
function referencesIn(own: readonly Run[], storage: string) {
  const tasks = new Set<unknown>();
  for (const { result, failure, memo, input, workflowId } of own) {
    for (const taskId of [result?.taskId, failure?.details.taskId, memo.taskId, input.taskId])
      tasks.add(taskId);
    for (const entry of recordsOf(storage, workflowId)) if (entry.event === 'task') tasks.add(entry.taskId);
  }
  tasks.delete(undefined);
  return { has: (taskId: string) => tasks.has(taskId), hasAny: tasks.size > 0 };
}

function recordsOf(storage: string, name: string): Record<string, unknown>[] {
  const folder = join(storage, 'jobs');
  if (!existsSync(folder)) return [];
  const start = `${encodeURIComponent(name)}.`;
  return readdirSync(folder)
    .filter((one) => one.startsWith(start) && /^[0-9a-f]{16}$/.test(one.slice(start.length)))
    .flatMap((one) =>
      filesIn(join(folder, one))
        .filter((file) => file.endsWith('.json'))
        .map((file) => JSON.parse(readFileSync(file, 'utf8'))),
    );
}

function story(tasks: readonly LedgerTask[], posts: Ledger['posts']): string {
  const time = (atMs: number) => new Date(atMs).toISOString().slice(11, 23);
  const made = tasks.map(({ service, atMs, taskId }) => ({ atMs, text: `${service} made ${taskId}` }));
  const answered = posts.map(({ service, atMs, status }) => ({
    atMs,
    text: `${service} answered ${status ?? 'nothing'}`,
  }));
  const all = [...made, ...answered].sort((a, b) => a.atMs - b.atMs);
  return all.map(({ atMs, text }) => `${time(atMs)} ${text}`).join(', ');
}

/** The results of a batch have one line for each item, which says what Temporal says. */
function judgeBatches(wanted: readonly Wanted[], runs: readonly Run[], storage: string): string[] {
  const flaws: string[] = [];
  const names = new Set(
    wanted.flatMap(({ kind, name }) => (kind === 'batch' ? name.replace(/-\d+$/, '') : [])),
  );
  for (const name of names) {
    const file = join(storage, 'batches', name, 'results.jsonl');
    if (!existsSync(file)) {
      flaws.push(`${name}: there is no file of results`);
      continue;
    }
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const items = wanted.filter((one) => one.kind === 'batch' && one.name.replace(/-\d+$/, '') === name);
    if (lines.length !== items.length)
      flaws.push(`${name}: ${lines.length} results for ${items.length} items`);
    for (const line of lines) {
      const run = runs.findLast(({ workflowId }) => workflowId === line.name);
      const outcome = run?.status === 'COMPLETED' ? 'succeeded' : 'failed';
      if (run?.status !== 'RUNNING' && outcome !== line.outcome)
        flaws.push(`${line.name}: the results say ${line.outcome}, and Temporal ${run?.status}`);
    }
  }
  return flaws;
}

const EVENTS: Record<string, string> = {
  COMPLETED: 'video.completed',
  FAILED: 'video.failed',
  CANCELED: 'video.failed',
};

/** A job that ends by itself has its receiver told. Parts of other jobs have none, and Temporal ends a run without a word. */
function judgeWebhooks(
  runs: readonly Run[],
  byName: ReadonlyMap<string, Run>,
  webhooks: readonly ReceivedWebhook[],
): string[] {
  const accepted = new Set(
    webhooks.flatMap(({ status, body }) => (status < 300 ? `${body.data.id} ${body.type}` : [])),
  );
  return runs.flatMap(({ workflowId, type, status, parentId }) => {
    const event = EVENTS[status];
    if (!JOB_TYPES.includes(type) || event === undefined) return [];
    if (parentId !== undefined && byName.get(parentId)?.type !== undefined) return [];
    const id = /^gateway-\w+-(video_[0-9a-f]{32})$/.exec(workflowId)?.[1] ?? workflowId;
    return accepted.has(`${id} ${event}`) ? [] : [`${workflowId} ended as ${status}, and no webhook said so`];
  });
}

function judgeRunning(runs: readonly Run[]): string[] {
  return runs.flatMap(({ workflowId, status, type }) =>
    status === 'RUNNING' ? [`${workflowId} (${type}) never ended`] : [],
  );
}

async function judgeReplays(runs: readonly Run[], codePath: string): Promise<string[]> {
  const flaws: string[] = [];
  const histories = runs.map(({ workflowId, history }) => ({ workflowId, history }));
  const replays = Worker.runReplayHistories({ workflowBundle: { codePath } }, histories);
  for await (const { workflowId, error } of replays)
    if (error) flaws.push(`${workflowId} does not replay: ${String(error).slice(0, 300)}`);
  return flaws;
}

export function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
