import { condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { VideoActivities } from '../../activities';
import type { SharedPoll } from '../../src/contract/batch';
import { describeDuration } from '../../src/contract/duration';
import { createFailure, readFailure } from '../../src/contract/failures';
import type { TaskStatus } from '../../src/contract/job';
import { BATCH_REST_MS, SHARED_POLL_POLICY, TASKS_PER_POLL } from '../../src/contract/policies';
import type { Job } from '../job';
import { recordPoll } from '../poll';
import type { BatchState } from './batch-state';

/** An item that waits for its next look, until that has been. */
interface Waiting {
  taskId: string;
  dueAtMs: number;
  seen?: SharedPoll;
}

/** The looks of all items of a batch: one timer, and one activity for all whose time has come. */
export class BatchPoller {
  private readonly waiting = new Set<Waiting>();
  private notBeforeMs = 0;
  private looking = false;
  /** Between two looks, whoever they are at: as the service, or the batch, wants it for one task. */
  private pauseMs = 0;

  constructor(
    private readonly batch: BatchState,
    /** Set by `pollNow`. */
    public requested = false,
  ) {}

  get isResting(): boolean {
    return !this.looking;
  }

  /** The next look at an item's task, when its time has come. */
  async next(job: Job, taskId: string): Promise<TaskStatus | undefined> {
    const waiting: Waiting = { taskId, dueAtMs: Date.now() + job.planNextPoll() };
    this.pauseMs = job.polling.min;
    this.waiting.add(waiting);
    try {
      return await recordPoll(job, async () => {
        await condition(() => waiting.seen !== undefined);
        return toLook(waiting.seen);
      });
    } finally {
      this.waiting.delete(waiting);
    }
  }

  /** Looks for as long as the batch runs. */
  async run(): Promise<never> {
    for (;;) {
      await this.untilDue();
      const due = this.due(this.requested ? Number.POSITIVE_INFINITY : Date.now());
      this.requested = false;
      this.looking = true;
      await Promise.all(chunks(due).map((some) => this.lookAt(some)));
      this.looking = false;
      this.notBeforeMs = Date.now() + this.pauseMs;
    }
  }

  private async untilDue(): Promise<void> {
    for (;;) {
      await condition(() => this.dueAtMs() < Number.POSITIVE_INFINITY);
      const dueAtMs = this.dueAtMs();
      const waitMs = dueAtMs - Date.now();
      const isSooner = () => this.requested || this.dueAtMs() < dueAtMs;
      if (waitMs > 0) {
        await condition(isSooner, waitMs, { summary: `next looks in ${describeDuration(waitMs)}` });
      }
      if (this.batch.wantsRest) await condition(() => false, BATCH_REST_MS, { summary: 'rest' });
      if (this.requested || this.dueAtMs() <= Date.now()) return;
    }
  }

  private dueAtMs(): number {
    return Math.max(this.notBeforeMs, Math.min(...[...this.unseen()].map(({ dueAtMs }) => dueAtMs)));
  }

  private due(atMs: number): Waiting[] {
    return this.unseen().filter(({ dueAtMs }) => dueAtMs <= atMs);
  }

  private unseen(): Waiting[] {
    return [...this.waiting].filter(({ seen }) => seen === undefined);
  }

  private async lookAt(some: Waiting[]): Promise<void> {
    const { pollVideos } = proxyActivities<VideoActivities>({
      ...SHARED_POLL_POLICY,
      summary: some.length === 1 ? 'look at one task' : `look at ${some.length} tasks`,
    });
    try {
      const looks = await pollVideos({ taskIds: some.map(({ taskId }) => taskId) });
      for (const [index, waiting] of some.entries()) {
        const look = looks[index];
        if (look !== 'not-yet') waiting.seen = look;
      }
    } catch (error) {
      if (isCancellation(error)) throw error;
      const { type, details } = readFailure(error) ?? {
        type: 'Unexpected',
        details: { message: String(error) },
      };
      for (const waiting of some) waiting.seen = { failure: type, details };
    }
  }
}

function toLook(seen: SharedPoll | undefined): TaskStatus {
  if (typeof seen !== 'object') throw createFailure('Unexpected');
  if ('status' in seen) return seen.status;
  throw createFailure(seen.failure, seen.details);
}

function chunks(all: Waiting[]): Waiting[][] {
  const count = Math.ceil(all.length / TASKS_PER_POLL);
  return Array.from({ length: count }, (_, index) =>
    all.slice(index * TASKS_PER_POLL, (index + 1) * TASKS_PER_POLL),
  );
}
