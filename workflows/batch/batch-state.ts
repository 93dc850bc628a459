import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
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
import type { VideoInput } from '../../src/contract/fallback';
import type { BatchCost } from '../../src/contract/job-cost';
import { addSums, type MoneySum } from '../../src/contract/money';
import {
  DEFAULT_WINDOW,
  LARGEST_BATCH_HISTORY_BYTES,
  LONGEST_BATCH_HISTORY_EVENTS,
  RESULT_BYTES_AT_ONCE,
  RESULTS_AT_ONCE,
} from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { firstThatFit } from '../../src/contract/sizes';
import { createFailure, type VideoFailure } from '../../src/contract/video-failure';
import type { ChildEnd } from '../child-jobs';
import type { CarriedBatch } from '../runs';
import { batchDetails } from '../ui-details';

export type BatchStep = 'fail' | 'record' | 'continue-as-new' | 'start' | 'end';

/** What a batch knows of its items: how many ended how, and which ones run. */
export class BatchState {
  readonly name = workflowInfo().workflowId;
  /** The next item to start, counted from 1. */
  next: number;
  /** A bug in the workflow itself. */
  bug: unknown;
  private results: StoredFile | undefined;
  private stopping: string | undefined;
  private counts: { succeeded: number; failed: number };
  private stoppedBy: FailedItem | undefined;
  /** Results that are not yet in the results file. */
  private readonly unrecorded: ItemResult[] = [];
  /** What the items cost that have ended. */
  private spent: MoneySum;
  private readonly running = new Map<string, ItemProgress>();

  constructor(
    readonly input: BatchInput,
    carried: CarriedBatch | undefined,
    public opened: OpenedBatch | undefined = carried?.opened,
  ) {
    this.next = carried?.next ?? 1;
    this.counts = { succeeded: carried?.succeeded ?? 0, failed: carried?.failed ?? 0 };
    this.spent = carried?.spent ?? addSums();
    if (carried?.stoppedBy) this.stopFor(carried.stoppedBy);
  }

  /** Undefined when the batch can only wait. */
  nextStep(): BatchStep | undefined {
    if (this.bug !== undefined) return 'fail';
    if (this.unrecorded.length >= RESULTS_AT_ONCE) return 'record';
    const isOver = this.stopping !== undefined || this.next > (this.items ?? 0);
    if (isOver && this.isIdle) return 'end';
    if (this.historyIsLong) {
      if (this.running.size > this.held.length) return undefined;
      return this.unrecorded.length > 0 ? 'record' : 'continue-as-new';
    }
    return !isOver && this.hasRoom ? 'start' : undefined;
  }

  private get historyIsLong(): boolean {
    const { historyLength, historySize } = workflowInfo();
    return historyLength > LONGEST_BATCH_HISTORY_EVENTS || historySize > LARGEST_BATCH_HISTORY_BYTES;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  private get held(): ItemProgress[] {
    return [...this.running.values()].filter(({ isHeld }) => isHeld);
  }

  /** Held items do not count, but at most `window` of them: a service may lose every submit. */
  private get hasRoom(): boolean {
    const window = this.input.window ?? DEFAULT_WINDOW;
    return this.running.size - Math.min(this.held.length, window) < window;
  }

  private get items(): number | undefined {
    return this.opened?.items ?? this.input.requests?.length;
  }

  /** Items that an earlier batch of this name finished are counted and not started again. */
  recordOpened(opened: OpenedBatch): void {
    const { succeeded, failed, spent } = opened.earlier;
    this.spent = spent ?? addSums();
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

  /** The input of an item, which is a job like any other. The cap of the batch is shared by all of them. */
  itemInput(request: VideoRequest): VideoInput {
    const { requests, requestsFrom, window, onFailure, cap, services, fallbackAfter, ...options } =
      this.input;
    const shared = { request, ...options, sharedCap: { name: this.name, cap: cap ?? {} } };
    if (services == null) return shared;
    const { service: _, ...others } = shared;
    return { ...others, services, ...(fallbackAfter != null && { fallbackAfter }) };
  }

  recordStarted(item: number, { isHeld = false } = {}): string {
    const name = itemName(this.name, item);
    this.running.set(name, { item, name, ...(isHeld && { isHeld }) });
    this.show();
    return name;
  }

  recordHold(name: string, isHeld: boolean): void {
    const running = this.running.get(name);
    if (running) this.recordStarted(running.item, { isHeld });
  }

  recordEnd(item: number, end: ChildEnd): void {
    const name = itemName(this.name, item);
    const result: ItemResult =
      'result' in end ? { item, name, outcome: 'succeeded', ...end.result } : failed(item, name, end.failure);
    this.counts[result.outcome]++;
    if (result.outcome === 'failed' && this.stopsFor(result)) this.stopFor(result);
    this.running.delete(name);
    this.unrecorded.push(result);
    this.spent = addSums(this.spent, spentOn([result]));
    this.show();
  }

  private stopFor(failed: FailedItem): void {
    this.stoppedBy ??= failed;
    this.stopStarting(`item ${failed.item} failed`);
  }

  /** A cap that items share would refuse those after it as well. They are made when the batch starts again. */
  private stopsFor({ failure, details }: FailedItem): boolean {
    if (this.input.onFailure === 'stop') return true;
    return failure === 'CapReached' && details.capLeft !== undefined && !details.cap?.startsWith('job.');
  }

  /** Starts no more items. */
  stopStarting(why: string): void {
    this.stopping ??= why;
    this.show();
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
    const { spent, opened: { estimated } = {} } = this;
    const isKnown = spent.sums.length > 0 || (estimated !== undefined && spent.unknown > 0);
    if (!isKnown && estimated === undefined) return {};
    return { cost: { ...(estimated && { estimated }), ...(isKnown && { spent }) } };
  }

  /** The failure of a batch that stopped for one of its items. */
  stoppingFailure(): unknown {
    if (this.stoppedBy === undefined) return undefined;
    const { item, failure, details } = this.stoppedBy;
    const { succeeded, failed } = this.counts;
    const stopped = `item ${item} failed and the batch stopped with ${succeeded} stored and ${failed} failed of ${this.items}, listed in ${this.results?.uri}; start it again under the same name to continue`;
    return createFailure(failure, {
      ...details,
      message: [details.message?.replace(/[.\s]+$/, ''), stopped].filter(Boolean).join('; '),
    });
  }

  /** What the next run needs. `nextStep` records all results first. */
  carry(opened: OpenedBatch): CarriedBatch {
    const { next, counts, spent, stoppedBy } = this;
    const held = this.held.map(({ item }) => item);
    return { opened, next, ...counts, spent, stoppedBy, held };
  }

  progress(): BatchProgress {
    const { items, counts, stopping } = this;
    return { items, ...counts, running: [...this.running.values()], stopping, ...this.shownCost };
  }

  private show(): void {
    setCurrentDetails(batchDetails(this.progress()));
  }
}

function failed(item: number, name: string, { type, message, details }: VideoFailure): FailedItem {
  const { cost, attempts, ...facts } = details;
  return {
    item,
    name,
    outcome: 'failed',
    failure: type,
    message,
    details: facts,
    ...(cost && { cost }),
    ...(attempts && { attempts }),
  };
}
