import { EventEmitter, once } from 'node:events';
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
    activityTaskSlotSupplier: new SubmitSlots(rateLimiter, max),
    workflowTaskSlotSupplier: UNUSED,
    localActivityTaskSlotSupplier: UNUSED,
    nexusTaskSlotSupplier: UNUSED,
  };
}

/** A worker fetches submits from Temporal only while the rate limiter allows them, so the backlog waits in Temporal. */
export class SubmitSlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private reserved = 0;
  /** Each request that waits listens to it. */
  private readonly changes = new EventEmitter().setMaxListeners(0);

  constructor(
    private readonly rateLimiter: RateLimiter,
    private readonly max: number,
  ) {}

  async reserveSlot(_context: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    signal.throwIfAborted();
    for (;;) {
      // Read before the room: should time make room in between, the timer still fires.
      const waitMs = this.rateLimiter.untilNextChangeMs();
      const permit = this.take();
      if (permit) return permit;
      await this.nextChange(waitMs, signal);
    }
  }

  tryReserveSlot(): SlotPermit | null {
    return this.changes.listenerCount('change') > 0 ? null : this.take();
  }

  private take(): SlotPermit | null {
    if (this.reserved >= Math.min(this.max, this.rateLimiter.submitAllowance())) return null;
    this.reserved += 1;
    return {};
  }

  markSlotUsed(): void {}

  releaseSlot(): void {
    this.reserved -= 1;
    this.changes.emit('change');
  }

  /** Watches the rate limiter only while a request waits, so that the limiter keeps no reference to an ended worker. */
  private async nextChange(waitMs: number | undefined, signal: AbortSignal): Promise<void> {
    const changed = () => this.changes.emit('change');
    const unsubscribe = this.rateLimiter.onChange(changed);
    const timer = waitMs === undefined ? undefined : setTimeout(changed, waitMs).unref();
    try {
      await once(this.changes, 'change', { signal });
    } catch {
      // The SDK logs any other error as a bug in the supplier.
      throw signal.reason;
    } finally {
      unsubscribe();
      clearTimeout(timer);
    }
  }
}
