import type { ItemResult } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import type { BatchPerformance } from './batch-stage';
import type { Note } from './notes';
import type { BatchScript, ItemScript } from './script';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LEAST_DOWNLOAD_CLOSE_MS = 10 * MINUTE;
const DEFAULT_MIN_MS = 3 * SECOND;
const LEAST_MIN_MS = SECOND;
/** So many polls in a row without the task, or in total without the video, are too many. */
const MOST_MISSES = 3;

type NoteOf<Kind extends Note['kind']> = Extract<Note, { kind: Kind }>;

/** What one item has done so far, by the notes. */
interface Item {
  startedAtMs: number;
  submittedAtMs: number;
  /** Set while a lost submit waits for a decision. */
  heldSinceMs?: number;
  heldMs: number;
  resubmits: number;
  lost: number;
  taskId?: string;
  waitedMs?: number;
  polledAtMs?: number;
  /** Running activities. */
  running: Set<string>;
}

/** What a batch did that it must not, a sentence each. */
export function compareBatch(performance: BatchPerformance): string[] {
  const { script, notes, ended } = performance;
  const model = new BatchModel(script);
  for (const note of notes) model.take(note);
  const results = [...script.items.keys()].flatMap((index) => checkItem(performance, model, index + 1));
  return [
    ...model.problems,
    ...results,
    ...checkResults(performance, model),
    ...(ended ? [] : ['the batch never ended']),
  ];
}

/** Follows the items of a batch. What is carried over shows in the times that activities are given. */
class BatchModel {
  readonly problems: string[] = [];
  readonly items = new Map<number, Item>();
  isCancelled = false;
  outcome: NoteOf<'end'>['outcome'] | undefined;
  private requestedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly script: BatchScript) {}

  take(note: Note): void {
    switch (note.kind) {
      case 'signal':
        if (note.name === 'pollNow') this.requestedAtMs = note.atMs;
        if (note.name === 'decideSubmit') this.decide(note);
        break;
      case 'cancel':
        this.isCancelled = true;
        break;
      case 'activity':
        this.schedule(note);
        break;
      case 'activity-end':
        this.endActivity(note);
        break;
      case 'end':
        this.outcome = note.outcome;
        break;
    }
  }

  private expect(what: string, found: unknown, expected: unknown): void {
    if (found !== expected) this.problems.push(`${what} is ${found}, not ${expected}`);
  }

  private decide({ args, atMs }: NoteOf<'signal'>): void {
    const { item, decision } = Object(args[0]);
    const held = this.items.get(item);
    if (held?.heldSinceMs === undefined || decision !== 'resubmit' || held.running.size > 0) return;
    held.resubmits += 1;
    this.endHold(held, atMs);
  }

  private endHold(item: Item, atMs: number): void {
    item.heldMs += atMs - (item.heldSinceMs ?? atMs);
    item.heldSinceMs = undefined;
  }

  private schedule(note: NoteOf<'activity'>): void {
    const [, activity = '', number = ''] = /^([a-z]+)-(\d+)$/.exec(note.id) ?? [];
    if (note.type === 'pollVideos') this.checkPoll(note);
    if (activity === '') return;
    const item = this.items.get(Number(number)) ?? newItem(note.atMs);
    this.items.set(Number(number), item);
    item.running.add(activity);
    const remainingMs = Math.max(0, item.startedAtMs + this.script.deadlineMs + item.heldMs - note.atMs);
    const what = (name: string) => `${name} of ${activity} of item ${number}`;
    if (activity === 'submit') {
      this.expect(what('scheduleToClose'), note.closeMs, remainingMs);
      this.expect(what('resubmits'), note.input.resubmits, item.resubmits > 0);
      this.expect(what('seed'), Object(note.input.request).seed, Number(number));
      const inUse = [...this.items.values()].filter(
        ({ running }) => running.has('submit') || running.has('download'),
      );
      if (inUse.length > this.script.window) this.problems.push(`${inUse.length} items run at once`);
    }
    if (activity === 'download') {
      this.expect(what('task'), note.input.taskId, item.taskId);
      this.expect(what('scheduleToClose'), note.closeMs, Math.max(remainingMs, LEAST_DOWNLOAD_CLOSE_MS));
      this.expect(what('startedAtMs'), note.input.startedAtMs, item.startedAtMs);
      this.expect(what('seed'), Object(note.input.expected).seed, Number(number));
      this.expect(what('record'), note.input.record !== undefined, true);
      item.waitedMs = note.atMs - item.submittedAtMs;
    }
  }

  /** Two polls of a task are not closer than the shortest pause, unless somebody or the deadline asks for it. */
  private checkPoll({ input, atMs, isLocal }: NoteOf<'activity'>): void {
    const { polling, servicePolling, deadlineMs } = this.script;
    const min = Math.max(polling?.min ?? servicePolling?.min ?? DEFAULT_MIN_MS, LEAST_MIN_MS);
    const tasks: unknown[] = Array.isArray(input.taskIds) ? input.taskIds : [];
    for (const item of this.items.values()) {
      if (item.taskId === undefined || !tasks.includes(item.taskId)) continue;
      const { polledAtMs, startedAtMs, heldMs } = item;
      const isAsked = polledAtMs !== undefined && this.requestedAtMs >= polledAtMs;
      const isLast = atMs >= startedAtMs + deadlineMs + heldMs;
      // A regular poll may follow at once on a local one that had no time for the task.
      if (polledAtMs !== undefined && isLocal && !isAsked && !isLast && atMs - polledAtMs < min)
        this.problems.push(`task ${item.taskId} was polled after ${atMs - polledAtMs} ms, not ${min}`);
      item.polledAtMs = atMs;
    }
  }

  private endActivity({ id, end, atMs }: NoteOf<'activity-end'>): void {
    const [, activity = '', number = ''] = /^([a-z]+)-(\d+)$/.exec(id) ?? [];
    const item = this.items.get(Number(number));
    if (item === undefined) return;
    item.running.delete(activity);
    if (activity === 'submit' && 'result' in end) {
      item.taskId = Object(end.result).taskId;
      item.submittedAtMs = atMs;
    }
    if (activity === 'submit' && 'failed' in end && end.failed === 'SubmitUnconfirmed') {
      item.lost += 1;
      if ((this.script.onLostSubmit ?? 'hold') === 'hold') item.heldSinceMs = atMs;
    }
    if (activity === 'adopt' && 'result' in end && item.heldSinceMs !== undefined) {
      this.endHold(item, atMs);
      item.submittedAtMs = atMs;
    }
    if (activity === 'recall' && 'result' in end) {
      item.taskId ??= Object(end.result).task?.taskId;
    }
  }
}

function newItem(atMs: number): Item {
  return { startedAtMs: atMs, submittedAtMs: atMs, heldMs: 0, resubmits: 0, lost: 0, running: new Set() };
}

function checkItem(
  { script, generations, results, polls, storedWrong }: BatchPerformance,
  model: BatchModel,
  number: number,
): string[] {
  const result = results.find(({ item }) => item === number);
  const item = model.items.get(number);
  const own = generations.filter((task) => task.item === number);
  const problems: string[] = [];
  const wrong = (problem: string) => problems.push(`item ${number}: ${problem}`);
  const submits = script.items[number - 1]?.submits.length ?? 0;
  const byPolicy = script.onLostSubmit === 'resubmit' ? submits : 0;
  const most = script.idempotencyKeys === 'honoured' ? 1 : 1 + (item?.resubmits ?? 0) + byPolicy;
  if (own.length > most) wrong(`${own.length} generations were paid for, not ${most}`);
  if (item !== undefined && result === undefined) wrong('it began and has no result');
  if (result?.outcome === 'succeeded') {
    if (item?.taskId !== result.taskId) wrong(`task ${result.taskId}, not ${item?.taskId}`);
    if (item?.waitedMs !== result.waitedMs) wrong(`waited ${result.waitedMs} ms, not ${item?.waitedMs}`);
    if (result.seed !== number) wrong(`seed ${result.seed}`);
    if (storedWrong.includes(number)) wrong('the stored file is not its video');
    const polled = polls[result.taskId] ?? 0;
    // A poll that the rate limiter refuses reaches no service.
    const isLimited = script.items.some((one) => one.polls.some(({ kind }) => kind === 'rate-limited'));
    if (isLimited ? result.polls < polled : result.polls !== polled)
      wrong(`${result.polls} polls, not ${polled}`);
  }
  if (result?.outcome === 'failed') {
    const allowed = mayFailAs(script, script.items[number - 1], model.isCancelled);
    if (!allowed.has(result.failure)) wrong(`it failed as ${result.failure}, and may as ${[...allowed]}`);
  }
  return problems;
}

/** The failures that the answers to an item can lead to. */
function mayFailAs(
  script: BatchScript,
  item: ItemScript | undefined,
  isCancelled: boolean,
): Set<FailureType> {
  const { submits = [], polls = [], downloads = [], taskEnds } = item ?? {};
  const allowed = new Set<FailureType>(['DeadlineExceeded']);
  const allow = (types: FailureType[], isAllowed: boolean) => {
    for (const type of isAllowed ? types : []) allowed.add(type);
  };
  const kinds: string[] = [...submits, ...downloads].map(({ kind }) => kind);
  const statuses = submits.flatMap((answer) => (answer.kind === 'refused' ? [answer.status] : []));
  const isLost = submits.some(({ kind }) => kind === 'lost') || statuses.includes(422);
  const adopts = script.deeds.some(({ deed }) => deed.kind === 'adopt');
  const missed = polls.filter((answer) => answer.kind === 'refused' && answer.status === 404).length;
  allow(['Cancelled', 'SubmitUnconfirmed'], isCancelled);
  allow(['GenerationFailed'], taskEnds === 'failed');
  allow(['ContentRefused'], taskEnds === 'refused');
  allow(['GenerationCancelled'], taskEnds === 'cancelled');
  allow(
    ['InvalidRequest'],
    statuses.some((status) => status === 400 || status === 422),
  );
  allow(
    ['Unauthorized'],
    statuses.some((status) => status === 401 || status === 402),
  );
  allow(['SubmitUnconfirmed'], isLost);
  allow(['TaskUnknown'], missed >= MOST_MISSES || (adopts && missed > 0) || kinds.includes('link'));
  allow(
    ['NoVideo'],
    polls.filter(({ kind }) => kind === 'no-video').length >= MOST_MISSES || kinds.includes('link'),
  );
  // One rate limiter serves all items.
  allow(
    ['RateLimited'],
    script.items.some((one) =>
      [...one.submits, ...one.downloads, ...one.polls].some(({ kind }) => kind === 'rate-limited'),
    ),
  );
  allow(['ServiceFailed'], kinds.includes('server-error') || kinds.includes('link'));
  allow(['ServiceUnreachable'], kinds.includes('cut') || kinds.includes('reset'));
  allow(
    ['VideoUnavailable'],
    downloads.some(({ kind }) => kind === 'refused'),
  );
  allow(['VideoCorrupt'], kinds.includes('web-page'));
  return allowed;
}

/** The results are complete, in order and counted. */
function checkResults({ script, workflowId, results, files }: BatchPerformance, model: BatchModel): string[] {
  const problems: string[] = [];
  const numbers = results.map(({ item }) => item);
  if (numbers.some((item, index) => index > 0 && item <= (numbers[index - 1] ?? 0)))
    problems.push(`results of ${numbers}`);
  if (results.some(({ item, name }) => name !== `${workflowId}-${item}`))
    problems.push('a result has another name');
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  const stops = script.onFailure === 'stop' && failed.length > 0;
  if (results.length !== script.items.length && !stops && !model.isCancelled) {
    problems.push(`${results.length} results for ${script.items.length} items`);
  }
  const { outcome } = model;
  const found = outcome === undefined ? 'nothing' : 'failed' in outcome ? outcome.failed : 'succeeded';
  const expected = endOfBatch(results, stops, model.isCancelled);
  if (!expected.includes(found)) problems.push(`the batch ended as ${found}, not ${expected.join(' or ')}`);
  const videos = files.filter((file) => file.endsWith('.mp4')).length;
  if (videos !== results.length - failed.length) problems.push(`${videos} videos are stored`);
  if (files.some((file) => file.endsWith('.part'))) problems.push('a part is left');
  return problems;
}

function endOfBatch(results: ItemResult[], stops: boolean, isCancelled: boolean): string[] {
  const failures = results.flatMap((result) => (result.outcome === 'failed' ? [result.failure] : []));
  return [
    ...(stops ? failures : ['succeeded']),
    // The items that ended before may be all of them.
    ...(isCancelled ? ['Cancelled', 'succeeded'] : []),
  ];
}
