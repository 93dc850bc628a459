import type {
  ActivitySlotInfo,
  CustomSlotSupplier,
  FixedSizeSlotSupplier,
  SlotPermit,
  SlotReserveContext,
  TunerHolder,
} from '@temporalio/worker';
import type { RateLimiter } from '../service';

/** A worker for submits does nothing else, but the SDK wants a number for each kind of task. */
const UNUSED: FixedSizeSlotSupplier = { type: 'fixed-size', numSlots: 1 };

/** For a worker that does submits alone, `most` of them at once when the rate limiter is open. */
export function submitTuner(rateLimiter: RateLimiter, most: number): TunerHolder {
  return {
    activityTaskSlotSupplier: submitSlots(rateLimiter, most),
    workflowTaskSlotSupplier: UNUSED,
    localActivityTaskSlotSupplier: UNUSED,
    nexusTaskSlotSupplier: UNUSED,
  };
}

/** Lets a worker ask Temporal for submits only while the rate limiter lets them through: the backlog waits in Temporal. */
export function submitSlots(rateLimiter: RateLimiter, most: number): CustomSlotSupplier<ActivitySlotInfo> {
  return new SubmitSlots(rateLimiter, most);
}

class SubmitSlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private reserved = 0;
  /** In order of asking. */
  private readonly waiting = new Set<() => void>();
  private stopWatching: () => void = () => undefined;

  constructor(
    private readonly rateLimiter: RateLimiter,
    private readonly most: number,
  ) {}

  reserveSlot(_context: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    return new Promise((resolve, reject) => {
      const give = () => resolve({});
      const giveUp = () => {
        this.waiting.delete(give);
        this.serve();
        // The SDK takes any other error for a mistake of ours and logs it.
        reject(signal.reason);
      };
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      this.waiting.add(give);
      this.serve();
    });
  }

  tryReserveSlot(): SlotPermit | null {
    if (this.waiting.size > 0 || !this.hasRoom()) return null;
    this.reserved += 1;
    return {};
  }

  markSlotUsed(): void {}

  releaseSlot(): void {
    this.reserved -= 1;
    this.serve();
  }

  private hasRoom(): boolean {
    return this.reserved < Math.min(this.most, this.rateLimiter.submitAllowance());
  }

  private serve(): void {
    for (const give of this.waiting) {
      if (!this.hasRoom()) break;
      this.waiting.delete(give);
      this.reserved += 1;
      give();
    }
    this.watch();
  }

  /** Watches the rate limiter only while somebody waits, so that the rate limiter does not hold on to a worker that has ended. */
  private watch(): void {
    this.stopWatching();
    this.stopWatching = () => undefined;
    if (this.waiting.size === 0) return;
    const serve = () => this.serve();
    const unsubscribe = this.rateLimiter.onChange(serve);
    const waitMs = this.rateLimiter.untilNextChangeMs();
    const timer = waitMs === undefined ? undefined : setTimeout(serve, waitMs).unref();
    this.stopWatching = () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }
}
