import { isCancellation, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import {
  type BatchInput,
  type BatchProgress,
  type BatchResult,
  type FailedItem,
  type ItemProgress,
  type ItemResult,
  isPacked,
  itemName,
  type OpenedBatch,
  type StoredFile,
  spentOn,
} from '../../src/contract/batch';
import type { CarriedBatch, CarriedItem, CarriedJob, CarriedTimes } from '../../src/contract/carried-over';
import type { JobResult } from '../../src/contract/job';
import type { BatchCost, JobCost } from '../../src/contract/job-cost';
import { MoneyCounter } from '../../src/contract/money';
import {
  CARRIED_TEXT_BYTES,
  DEFAULT_WINDOW,
  LONGEST_BATCH_HISTORY_EVENTS,
  LONGEST_CARRIED_TEXT_BYTES,
  LONGEST_RESULT_TEXT_BYTES,
  MOST_RESULT_WARNINGS,
  RESULT_BYTES_AT_ONCE,
  RESULTS_AT_ONCE,
} from '../../src/contract/policies';
import { cutToBytes, firstThatFit } from '../../src/contract/sizes';
import { createFailure, type VideoFailure } from '../../src/contract/video-failure';
import { checkBatchInput } from '../input';
import { Job, type JobHost } from '../job';
import { historyIsLong, resetRunsSince } from '../runs';
import { batchDetails, type ShownItem } from './batch-details';
import { carriedTimesOf, carryTimes } from './carried-times';

export type BatchStep = 'fail' | 'record' | 'continue-as-new' | 'start' | 'end';

/** The state of a batch and its items. */
export class BatchState {
  readonly name = workflowInfo().workflowId;
  opened: OpenedBatch | undefined;
  private readonly resetRuns: string[] | undefined;
  /** The next item to start, counted from 1. */
  next: number;
  results: StoredFile | undefined;
  /** A bug in the workflow itself. */
  bug: unknown;
  private stopping: string | undefined;
  private counts: { succeeded: number; failed: number };
  private firstFailed: FailedItem | undefined;
  private hasChanged = false;
  /** Results that are not yet in the results file. */
  private readonly unrecorded: ItemResult[] = [];
  /** What the items cost that have ended. */
  private spent: MoneyCounter;
  private readonly warnedWords: Set<string>;
  private readonly carriedTimes: readonly CarriedTimes[];
  private readonly running = new Map<number, Job>();

  constructor(
    readonly input: BatchInput,
    carried?: CarriedBatch,
  ) {
    checkBatchInput(input);
    this.opened = carried?.opened;
    this.next = carried?.next ?? 1;
    this.counts = { succeeded: carried?.succeeded ?? 0, failed: carried?.failed ?? 0 };
    this.spent = new MoneyCounter(carried?.spent);
    this.resetRuns = resetRunsSince(carried?.resetRuns);
    this.warnedWords = new Set(carried?.warnedWords);
    this.carriedTimes = carried?.usualTimes ?? [];
    if (carried?.firstFailed) this.noteFailed(carried.firstFailed);
  }

  /** Undefined when the batch can only wait. `isQuiet`: neither polls nor decisions are under way. */
  nextStep(isQuiet: boolean): BatchStep | undefined {
    if (this.bug !== undefined) return 'fail';
    if (this.unrecorded.length >= RESULTS_AT_ONCE) return 'record';
    const isOver = this.stopping !== undefined || this.next > (this.items ?? 0);
    if (isOver && this.isIdle) return 'end';
    if (this.wantsContinueAsNew) {
      if (!isQuiet || !this.itemsAreWaiting) return undefined;
      return this.unrecorded.length > 0 ? 'record' : 'continue-as-new';
    }
    return !isOver && this.hasRoom ? 'start' : undefined;
  }

  /** The history is long: the batch continues as new as soon as it is quiet. */
  get wantsContinueAsNew(): boolean {
    return historyIsLong(LONGEST_BATCH_HISTORY_EVENTS);
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  private get itemsAreWaiting(): boolean {
    return this.busyItems === 0;
  }

  /** How many items have an activity under way, or are about to. */
  get busyItems(): number {
    return [...this.running.values()].filter((job) => !job.isWaiting && !job.hold.needsDecision).length;
  }

  /** Held items do not count, but at most `window` of them: a service may lose every submit. */
  private get hasRoom(): boolean {
    const window = this.input.window ?? DEFAULT_WINDOW;
    const held = [...this.running.values()].filter((job) => job.isHeld).length;
    return this.running.size - Math.min(held, window) < window;
  }

  private get items(): number | undefined {
    return this.opened?.items ?? this.input.requests?.length;
  }

  /** Items that an earlier batch of this name finished are counted and not started again. */
  recordOpened(opened: OpenedBatch): void {
    const { succeeded, failed, spent } = opened.earlier;
    this.spent = new MoneyCounter(spent);
    this.opened = opened;
    this.counts = { succeeded, failed };
    this.skipDone();
    this.show();
  }

  private skipDone(): void {
    while (isPacked(this.opened?.earlier.done ?? '', this.next)) this.next++;
  }

  takeNext(): number {
    const item = this.next++;
    this.skipDone();
    return item;
  }

  startItem(item: number, loadRequest: JobHost['loadRequest'], carried?: CarriedJob): Job {
    const { requests, requestsFrom, window, onFailure, cap, ...options } = this.input;
    const host = {
      name: itemName(this.name, item),
      item,
      batchCap: cap ?? undefined,
      resetRuns: this.resetRuns,
      warnedWords: this.warnedWords,
      loadRequest,
      changed: () => this.show(),
      recordTask: () => undefined,
    };
    const usualTimes = carried && carriedTimesOf(this.carriedTimes, carried.expected);
    const job = new Job(options, host, carried && { ...carried, usualTimes });
    this.running.set(item, job);
    this.show();
    return job;
  }

  recordSucceeded(item: number, result: JobResult): void {
    this.counts.succeeded++;
    const warnings = result.warnings.slice(0, MOST_RESULT_WARNINGS).map(cutForResult);
    this.recordResult({ item, name: itemName(this.name, item), outcome: 'succeeded', ...result, warnings });
  }

  recordFailed(
    item: number,
    { type: failure, message, details }: VideoFailure,
    { cost, turns }: Pick<Job, 'cost' | 'turns'>,
  ): void {
    this.counts.failed++;
    const result = {
      item,
      name: itemName(this.name, item),
      outcome: 'failed',
      failure,
      message: cutForResult(message),
      details:
        details.message === undefined ? details : { ...details, message: cutForResult(details.message) },
      ...(cost && { cost }),
      ...(turns && { attempts: turns.attempts }),
    } as const;
    this.noteFailed(result);
    this.recordResult(result);
  }

  /** The one that stops the batch counts as the first. */
  private noteFailed(failed: FailedItem): void {
    const isStopped = this.firstFailed !== undefined && this.stopsFor(this.firstFailed);
    if (isStopped || !this.stopsFor(failed)) {
      this.firstFailed ??= failed;
      return;
    }
    this.firstFailed = failed;
    this.stopStarting(`item ${failed.item} failed`);
  }

  /** A cap that items share would refuse those after it as well. They are made when the batch starts again. */
  private stopsFor({ failure, details }: FailedItem): boolean {
    if (this.input.onFailure === 'stop') return true;
    return failure === 'CapReached' && details.capLeft !== undefined && !details.cap?.startsWith('job.');
  }

  private recordResult(result: ItemResult): void {
    this.running.delete(result.item);
    this.unrecorded.push(result);
    this.spent.addSum(spentOn([result]));
    this.show();
  }

  /** Starts no more items. */
  stopStarting(why: string): void {
    this.stopping ??= why;
    this.show();
  }

  /** A cancellation is no bug: it reaches the batch itself. */
  recordBug(error: unknown): void {
    if (!isCancellation(error)) this.bug ??= error;
  }

  /** The results to write next, as many as fit into one activity input. */
  toRecord(): ItemResult[] {
    return firstThatFit(this.unrecorded, { most: RESULTS_AT_ONCE, bytes: RESULT_BYTES_AT_ONCE });
  }

  /** Whether the results file has every result so far. It is written even when there are none. */
  get isRecorded(): boolean {
    return this.unrecorded.length === 0 && this.results !== undefined;
  }

  markRecorded(results: StoredFile, count: number): void {
    this.unrecorded.splice(0, count);
    this.results = results;
  }

  result(): BatchResult {
    const { items = 0, results = { key: '', uri: '' } } = this;
    return { items, ...this.counts, results, ...this.shownCost };
  }

  /** Nothing is said about the costs of a service without prices that does not say what it charged. */
  private get shownCost(): { cost?: BatchCost } {
    const estimated = this.opened?.estimated;
    const spent = this.spent.sum;
    const isKnown = spent.sums.length > 0 || (estimated !== undefined && spent.unknown > 0);
    if (!isKnown && estimated === undefined) return {};
    return { cost: { ...(estimated && { estimated }), ...(isKnown && { spent }) } };
  }

  /** The failure of a batch that stopped for one of its items. */
  stoppingFailure(): unknown {
    if (this.firstFailed === undefined || !this.stopsFor(this.firstFailed)) return undefined;
    const { item, failure, details } = this.firstFailed;
    const { succeeded, failed } = this.counts;
    const stopped = `item ${item} failed and the batch stopped with ${succeeded} stored and ${failed} failed of ${this.items}, listed in ${this.results?.uri}; start it again under the same name to continue`;
    return createFailure(failure, {
      ...details,
      message: [details.message?.replace(/[.\s]+$/, ''), stopped].filter(Boolean).join('; '),
    });
  }

  job(item: unknown): Job | undefined {
    return typeof item === 'number' ? this.running.get(item) : undefined;
  }

  jobNamed(name: unknown): Job | undefined {
    return [...this.running.values()].find(({ host }) => host.name === name);
  }

  /** What the next run needs. `nextStep` records all results first. */
  carry(pollRequested: boolean): CarriedBatch {
    return {
      pollRequested,
      opened: this.opened,
      next: this.next,
      ...this.counts,
      spent: this.spent.sum,
      firstFailed: this.firstFailed,
      resetRuns: this.resetRuns,
      warnedWords: [...this.warnedWords],
      running: carriedItems(this.running),
      usualTimes: carryTimes(this.running.values()),
    };
  }

  progress(): BatchProgress {
    return this.progressOf(itemProgressOf);
  }

  private progressOf<Item>(describe: (job: Job, item: number) => Item) {
    return {
      items: this.items,
      ...this.counts,
      running: [...this.running].map(([item, job]) => describe(job, item)),
      stopping: this.stopping,
      ...this.shownCost,
    };
  }

  private show(): void {
    this.hasChanged = true;
  }

  /**
   * The predicate of a condition that is never met: Temporal asks it once all else has happened in a workflow task, which may
   * change many items. A promise for it would cost more than the text.
   */
  showChanges(): false {
    if (this.hasChanged) setCurrentDetails(batchDetails(this.progressOf(shownOf), this.name));
    this.hasChanged = false;
    return false;
  }
}

const shownOf = (job: Job, item: number): ShownItem => ({ item, ...job.shown });

const itemProgressOf = (job: Job, item: number): ItemProgress => ({
  item,
  name: job.host.name,
  ...job.progress(),
});

function cutForResult(text: string): string {
  return cutToBytes(text, LONGEST_RESULT_TEXT_BYTES);
}

/** What the items carry over. The texts share a budget, so that the whole stays below 1 MiB. */
export function carriedItems(running: ReadonlyMap<number, Job>): CarriedItem[] {
  const share = Math.floor(CARRIED_TEXT_BYTES / Math.max(1, running.size));
  const longestText = Math.min(LONGEST_CARRIED_TEXT_BYTES, share);
  return [...running].map(([item, job]) => ({
    item,
    job: { ...job.carry(longestText), usualTimes: undefined, cost: estimateOf(job.cost) },
  }));
}

/** The words about the cost of an item are in its record, and a charge comes with the poll that finds its task ended. */
function estimateOf({ estimated }: JobCost = {}): JobCost | undefined {
  return estimated && { estimated };
}
