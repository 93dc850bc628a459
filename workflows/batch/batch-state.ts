import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import {
  type BatchInput,
  type BatchProgress,
  type FailedItem,
  type ItemProgress,
  type ItemResult,
  itemName,
  type OpenedBatch,
  type StoredFile,
  spentOn,
} from '../../src/contract/batch';
import type { VideoInput } from '../../src/contract/job';
import type { BatchCost } from '../../src/contract/job-cost';
import { addSums } from '../../src/contract/money';
import {
  DEFAULT_WINDOW,
  LARGEST_BATCH_HISTORY_BYTES,
  LONGEST_BATCH_HISTORY_EVENTS,
  RESULTS_AT_ONCE,
} from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { createFailure, withoutEnd } from '../../src/contract/video-failure';
import type { ChildEnd } from '../child-jobs';
import type { CarriedBatch } from '../runs';
import { batchDetails } from '../ui-details';

/** What a batch knows of its items: how many ended how, and which ones run. */
export class BatchState {
  readonly name = workflowInfo().workflowId;
  /** What the next run needs too. */
  readonly known: CarriedBatch;
  readonly running = new Map<string, ItemProgress>();
  /** Results that are not yet in the results file. */
  readonly unrecorded: ItemResult[] = [];
  /** The results file, once it is written. */
  results: StoredFile | undefined;
  /** Why the batch ends before its items do. */
  private broken: string | undefined;

  constructor(
    readonly input: BatchInput,
    carried: CarriedBatch | undefined,
  ) {
    this.known = carried ?? { next: 1, succeeded: 0, failed: 0, spent: addSums() };
  }

  /** Undefined when the batch can only wait. */
  nextStep(): 'record' | 'continue-as-new' | 'start' | 'end' | undefined {
    const { running, unrecorded, known, stopping } = this;
    if (unrecorded.length >= RESULTS_AT_ONCE) return 'record';
    const isOver = stopping !== undefined || known.next > (this.items ?? 0);
    if (isOver && running.size === 0) return 'end';
    const held = this.held().length;
    if (historyIsLong()) {
      if (running.size > held) return undefined;
      return unrecorded.length > 0 ? 'record' : 'continue-as-new';
    }
    // Held items do not count, but at most `window` of them: a service may lose every submit.
    const window = this.input.window ?? DEFAULT_WINDOW;
    return !isOver && running.size - Math.min(held, window) < window ? 'start' : undefined;
  }

  /** Why no more items are started. */
  private get stopping(): string | undefined {
    const { stoppedBy } = this.known;
    return stoppedBy ? `item ${stoppedBy.item} failed` : this.broken;
  }

  private held(): number[] {
    return [...this.running.values()].filter(({ isHeld }) => isHeld).map(({ item }) => item);
  }

  get items(): number | undefined {
    return this.known.opened?.items ?? this.input.requests?.length;
  }

  /** Items that an earlier batch of this name finished are counted and not started again. */
  recordOpened(opened: OpenedBatch): void {
    const { succeeded, failed, spent } = opened.earlier;
    Object.assign(this.known, { opened, succeeded, failed, spent });
    this.skipDone();
    this.show();
  }

  private skipDone(): void {
    const { known } = this;
    while (known.opened?.earlier.done[known.next - 1] === '1') known.next++;
  }

  takeNext(): number {
    const item = this.known.next++;
    this.skipDone();
    return item;
  }

  /** The input of an item, which is a job like any other. The cap of the batch is shared by all of them. */
  itemInput(request: VideoRequest): VideoInput {
    const { requests, requestsFrom, window, onFailure, cap, services, fallbackAfter, ...options } =
      this.input;
    const shared = { request, ...options, sharedCap: { name: this.name, cap: cap ?? {} } };
    return services == null ? shared : { ...shared, services, fallbackAfter };
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
    const { known, name: batch } = this;
    const result = resultOf(item, itemName(batch, item), end);
    known[result.outcome]++;
    if (result.outcome === 'failed' && this.stopsFor(result)) known.stoppedBy ??= result;
    this.running.delete(result.name);
    this.unrecorded.push(result);
    known.spent = addSums(known.spent, spentOn([result]));
    this.show();
  }

  /** A cap that items share would refuse those after it as well. They are made when the batch starts again. */
  private stopsFor({ failure, details }: FailedItem): boolean {
    if (this.input.onFailure === 'stop') return true;
    return failure === 'CapReached' && details.capLeft !== undefined && !details.cap?.startsWith('job.');
  }

  stopStarting(why: string): void {
    this.broken = why;
    this.show();
  }

  /** The failure of a batch that stopped for one of its items. */
  stoppingFailure(): unknown {
    const { succeeded, failed, stoppedBy } = this.known;
    if (stoppedBy === undefined) return undefined;
    const { item, failure, details } = stoppedBy;
    const stopped = `item ${item} failed and the batch stopped with ${succeeded} stored and ${failed} failed of ${this.items}, listed in ${this.results?.uri}; start it again under the same name to continue`;
    return createFailure(failure, {
      ...details,
      // One of the other items may have been paid for.
      mayHaveTask: true,
      message: [details.message && withoutEnd(details.message), stopped].filter(Boolean).join('; '),
    });
  }

  /** `nextStep` records all results first. */
  carry(): CarriedBatch {
    return { ...this.known, held: this.held() };
  }

  progress(): BatchProgress {
    const { items, known, stopping } = this;
    const { succeeded, failed } = known;
    return { items, succeeded, failed, running: [...this.running.values()], stopping, ...this.cost() };
  }

  /** Nothing is said about the costs of a service without prices that does not say what it charged. */
  cost(): { cost?: BatchCost } {
    const { spent, opened: { estimated } = {} } = this.known;
    const isKnown = spent.sums.length > 0 || (estimated !== undefined && spent.unknown > 0);
    if (!isKnown && estimated === undefined) return {};
    return { cost: { ...(estimated && { estimated }), ...(isKnown && { spent }) } };
  }

  private show(): void {
    setCurrentDetails(batchDetails(this.progress()));
  }
}

function historyIsLong(): boolean {
  const { historyLength, historySize } = workflowInfo();
  return historyLength > LONGEST_BATCH_HISTORY_EVENTS || historySize > LARGEST_BATCH_HISTORY_BYTES;
}

function resultOf(item: number, name: string, end: ChildEnd): ItemResult {
  if ('result' in end) return { item, name, outcome: 'succeeded', ...end.result };
  const { type: failure, message, details } = end.failure;
  const { cost, refusedBy, ...facts } = details;
  return { item, name, outcome: 'failed', failure, message, details: facts, cost, refusedBy };
}
