import { isCancellation, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import {
  type BatchInput,
  type BatchProgress,
  type BatchResult,
  type CarriedBatch,
  type CarriedItem,
  type FailedItem,
  type ItemResult,
  isPacked,
  itemName,
  type OpenedBatch,
  type StoredFile,
} from '../../src/contract/batch';
import { createFailure, type VideoFailure } from '../../src/contract/failures';
import type { JobResult } from '../../src/contract/job';
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
import type { VideoRequest } from '../../src/contract/request';
import { cutToBytes, firstThatFit } from '../../src/contract/sizes';
import { checkBatchInput } from '../input';
import { Job } from '../job';
import { historyIsLong, resetRunsSince } from '../runs';
import { batchDetails } from './batch-details';
/** What a batch has to do next. */
export type Turn = 'fail' | 'record' | 'continue-as-new' | 'begin' | 'end';

/** What a batch knows about itself and its items. */
export class BatchState {
  readonly name = workflowInfo().workflowId;
  opened: OpenedBatch | undefined;
  private readonly resetRuns: string[] | undefined;
  /** The next item to begin; they are numbered from 1. */
  next: number;
  results: StoredFile | undefined;
  /** A mistake of ours in the workflow itself. */
  broken: unknown;
  private stopping: string | undefined;
  private counts: { succeeded: number; failed: number };
  private firstFailed: FailedItem | undefined;
  private willShow = false;
  /** Results that are not in the file yet. */
  private readonly unrecorded: ItemResult[] = [];
  private readonly warnedWords: Set<string>;
  private readonly running = new Map<number, Job>();

  constructor(
    readonly input: BatchInput,
    carried?: CarriedBatch,
  ) {
    checkBatchInput(input);
    this.opened = carried?.opened;
    this.next = carried?.next ?? 1;
    this.counts = { succeeded: carried?.succeeded ?? 0, failed: carried?.failed ?? 0 };
    this.resetRuns = resetRunsSince(carried?.resetRuns);
    this.warnedWords = new Set(carried?.warnedWords);
    if (carried?.firstFailed) this.noteFailed(carried.firstFailed);
  }

  /** Undefined when there is nothing to do but wait. Nothing of a batch that rests is under way. */
  turn(looksRest: boolean): Turn | undefined {
    if (this.broken !== undefined) return 'fail';
    if (this.unrecorded.length >= RESULTS_AT_ONCE) return 'record';
    const isOver = this.stopping !== undefined || this.next > (this.items ?? 0);
    if (isOver && this.isIdle) return 'end';
    if (this.wantsRest) {
      if (!looksRest || !this.itemsRest) return undefined;
      return this.unrecorded.length > 0 ? 'record' : 'continue-as-new';
    }
    return !isOver && this.hasRoom ? 'begin' : undefined;
  }

  /** Its history is long: it continues as new as soon as nothing is under way. */
  get wantsRest(): boolean {
    return historyIsLong(LONGEST_BATCH_HISTORY_EVENTS);
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  private get itemsRest(): boolean {
    return [...this.running.values()].every((job) => job.isWaiting || job.wantsDecision);
  }

  /** Those that wait for a decision leave their places to others, but once: a service may lose every submit. */
  private get hasRoom(): boolean {
    const places = this.input.window ?? DEFAULT_WINDOW;
    const held = [...this.running.values()].filter((job) => job.isHeld).length;
    return this.running.size - Math.min(held, places) < places;
  }

  private get items(): number | undefined {
    return this.opened?.items ?? this.input.requests?.length;
  }

  /** What was done before is counted, and not begun again. */
  recordOpened(opened: OpenedBatch): void {
    const { succeeded, failed } = opened.earlier;
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

  startItem(item: number, loadRequest: () => Promise<VideoRequest>, carried?: CarriedItem['job']): Job {
    const { requests, requestsFrom, window, onFailure, ...options } = this.input;
    const place = {
      name: itemName(this.name, item),
      item,
      resetRuns: this.resetRuns,
      warnedWords: this.warnedWords,
      loadRequest,
      changed: () => this.show(),
      recordTask: () => undefined,
    };
    const job = new Job(options, place, carried);
    this.running.set(item, job);
    this.show();
    return job;
  }

  recordSucceeded(item: number, result: JobResult): void {
    this.counts.succeeded++;
    const warnings = result.warnings.slice(0, MOST_RESULT_WARNINGS).map(cutForResult);
    this.recordResult({ item, name: itemName(this.name, item), outcome: 'succeeded', ...result, warnings });
  }

  recordFailed(item: number, { type: failure, message, details }: VideoFailure): void {
    this.counts.failed++;
    const result = {
      item,
      name: itemName(this.name, item),
      outcome: 'failed',
      failure,
      message: cutForResult(message),
      details:
        details.message === undefined ? details : { ...details, message: cutForResult(details.message) },
    } as const;
    this.noteFailed(result);
    this.recordResult(result);
  }

  private noteFailed(failed: FailedItem): void {
    this.firstFailed ??= failed;
    if (this.input.onFailure === 'stop') this.stopStarting(`item ${this.firstFailed.item} failed`);
  }

  private recordResult(result: ItemResult): void {
    this.running.delete(result.item);
    this.unrecorded.push(result);
    this.show();
  }

  /** No more items are begun. */
  stopStarting(why: string): void {
    this.stopping ??= why;
    this.show();
  }

  /** A cancellation breaks nothing: the batch itself is told of it. */
  recordBug(error: unknown): void {
    if (!isCancellation(error)) this.broken ??= error;
  }

  /** Those that are to be written next: as many as go through Temporal at once. */
  toRecord(): ItemResult[] {
    return firstThatFit(this.unrecorded, { most: RESULTS_AT_ONCE, bytes: RESULT_BYTES_AT_ONCE });
  }

  /** Whether the file has all results there are so far; it is there even when there are none. */
  get isRecorded(): boolean {
    return this.unrecorded.length === 0 && this.results !== undefined;
  }

  /** So many of them are in the file now. */
  markRecorded(results: StoredFile, count: number): void {
    this.unrecorded.splice(0, count);
    this.results = results;
  }

  result(): BatchResult {
    const { items = 0, results = { key: '', uri: '' } } = this;
    return { items, ...this.counts, results };
  }

  /** The failure of a batch that stopped for one of its items. */
  stoppingFailure(): unknown {
    if (this.firstFailed === undefined || this.input.onFailure !== 'stop') return undefined;
    const { item, failure, details } = this.firstFailed;
    const { succeeded, failed } = this.counts;
    const stopped = `item ${item} failed and the batch stopped with ${succeeded} stored and ${failed} failed of ${this.items}, listed in ${this.results?.uri}; started again under its name it goes on`;
    return createFailure(failure, {
      ...details,
      message: [details.message?.replace(/[.\s]+$/, ''), stopped].filter(Boolean).join('; '),
    });
  }

  /** Those that wait for a decision are asked for by their number. */
  job(item: unknown): Job | undefined {
    return typeof item === 'number' ? this.running.get(item) : undefined;
  }

  jobNamed(name: unknown): Job | undefined {
    return [...this.running.values()].find(({ host }) => host.name === name);
  }

  carry(pollRequested: boolean): CarriedBatch {
    return {
      pollRequested,
      opened: this.opened,
      next: this.next,
      ...this.counts,
      firstFailed: this.firstFailed,
      resetRuns: this.resetRuns,
      warnedWords: [...this.warnedWords],
      running: carriedItems(this.running),
    };
  }

  progress(): BatchProgress {
    return {
      items: this.items,
      ...this.counts,
      running: [...this.running].map(([item, job]) => ({ item, name: job.host.name, ...job.progress() })),
      stopping: this.stopping,
    };
  }

  /** Once for what changes at the same time: a look changes every item, and all of them are told each time. */
  private show(): void {
    if (this.willShow) return;
    this.willShow = true;
    void Promise.resolve().then(() => {
      this.willShow = false;
      setCurrentDetails(batchDetails(this.progress(), this.name));
    });
  }
}

function cutForResult(text: string): string {
  return cutToBytes(text, LONGEST_RESULT_TEXT_BYTES);
}

/** Numbers, task ids and some words: whatever the requests are and the service says, it stays below 1 MiB. */
export function carriedItems(running: ReadonlyMap<number, Job>): CarriedItem[] {
  const share = Math.floor(CARRIED_TEXT_BYTES / Math.max(1, running.size));
  const longestText = Math.min(LONGEST_CARRIED_TEXT_BYTES, share);
  return [...running].map(([item, job]) => ({ item, job: job.carry(longestText) }));
}
