import type {
  ActivitySlotInfo,
  CustomSlotSupplier,
  FixedSizeSlotSupplier,
  SlotPermit,
  SlotReserveContext,
  TunerHolder,
} from '@temporalio/worker';
import type { RateLimiter } from '../service';

/** A worker for submits gets no other tasks, but the SDK requires a supplier for each kind. */
const UNUSED: FixedSizeSlotSupplier = { type: 'fixed-size', numSlots: 1 };

/** For a worker that only submits: at most `max` submits at once, fewer while the rate limiter allows fewer. */
export function submitTuner(rateLimiter: RateLimiter, max: number): TunerHolder {
  return {
    activityTaskSlotSupplier: submitSlots(rateLimiter, max),
    workflowTaskSlotSupplier: UNUSED,
    localActivityTaskSlotSupplier: UNUSED,
    nexusTaskSlotSupplier: UNUSED,
  };
}

/** A worker fetches submits from Temporal only while the rate limiter allows them, so the backlog waits in Temporal. */
export function submitSlots(rateLimiter: RateLimiter, max: number): CustomSlotSupplier<ActivitySlotInfo> {
  return new SubmitSlots(rateLimiter, max);
}

class SubmitSlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private reserved = 0;
  /** In the order of their requests. */
  private readonly waiting = new Set<() => void>();
  private stopWatching: () => void = () => undefined;

  constructor(
    private readonly rateLimiter: RateLimiter,
    private readonly max: number,
  ) {}

  reserveSlot(_context: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    return new Promise((resolve, reject) => {
      const give = () => resolve({});
      const giveUp = () => {
        this.waiting.delete(give);
        this.serve();
        // The SDK logs any other error as a bug in the supplier.
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
    return this.reserved < Math.min(this.max, this.rateLimiter.submitAllowance());
  }

  private serve(): void {
    // Read before the room: should time make room in between, the timer still fires.
    const waitMs = this.rateLimiter.untilNextChangeMs();
    for (const give of this.waiting) {
      if (!this.hasRoom()) break;
      this.waiting.delete(give);
      this.reserved += 1;
      give();
    }
    this.watch(waitMs);
  }

  /** Watches the rate limiter only while a request waits, so that the limiter keeps no reference to an ended worker. */
  private watch(waitMs: number | undefined): void {
    this.stopWatching();
    this.stopWatching = () => undefined;
    if (this.waiting.size === 0) return;
    const serve = () => this.serve();
    const unsubscribe = this.rateLimiter.onChange(serve);
    const timer = waitMs === undefined ? undefined : setTimeout(serve, waitMs).unref();
    this.stopWatching = () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }
}
