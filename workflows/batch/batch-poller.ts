import { condition, isCancellation, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { PollVideosInput, VideoActivities } from '../../activities';
import type { SharedPoll } from '../../src/contract/batch';
import { describeDuration } from '../../src/contract/duration';
import type { TaskStatus } from '../../src/contract/job';
import {
  BATCH_REST_MS,
  LOCAL_SHARED_POLL_POLICY,
  MOST_BUSY_DURING_LOCAL_POLL,
  SHARED_POLL_POLICY,
  TASKS_PER_POLL,
} from '../../src/contract/policies';
import { choiceId, type ServiceChoice } from '../../src/contract/service-choice';
import { createFailure, readFailure } from '../../src/contract/video-failure';
import type { Job } from '../job';
import { isBug, type Poller, PollPace, recordPoll, undefinedIfUnanswered } from '../poll';
import type { BatchState } from './batch-state';

/** An item that waits for its next poll. */
interface WaitingItem {
  taskId: string;
  service: ServiceChoice | undefined;
  dueAtMs: number;
  answer?: SharedPoll;
}

/** Polls for all items of a batch: one timer, and one activity for up to 50 items of a service that are due. */
export class BatchPoller implements Poller {
  private readonly waiting = new Set<WaitingItem>();
  private notBeforeMs = 0;
  private isPolling = false;
  private readonly pace = new PollPace();
  /** The pause after each round of polls, whichever items it was for. */
  private pauseMs = 0;

  constructor(
    private readonly batch: BatchState,
    /** Set by `pollNow`. */
    public pollRequested = false,
  ) {}

  /** No poll is under way, and every item has acted on its last one: one that is ready is about to be downloaded. */
  get isIdle(): boolean {
    return !this.isPolling && this.unanswered().length === this.waiting.size;
  }

  /** Nothing to do for one item: the batch continues as new for all of them at once, see `nextStep`. */
  async continueAsNewIfLong(): Promise<void> {}

  async nextStatus(job: Job, taskId: string): Promise<TaskStatus | undefined> {
    const { service } = job;
    const item: WaitingItem = { taskId, service, dueAtMs: Date.now() + job.planNextPoll() };
    this.pauseMs = job.polling.min;
    this.waiting.add(item);
    try {
      return await recordPoll(job, async () => {
        await condition(() => item.answer !== undefined);
        return statusIn(item.answer);
      });
    } finally {
      this.waiting.delete(item);
    }
  }

  /** Polls for as long as the batch runs. */
  async run(): Promise<never> {
    for (;;) {
      await this.sleepUntilDue();
      const due = this.dueBefore(this.pollRequested ? Number.POSITIVE_INFINITY : Date.now());
      this.pollRequested = false;
      this.isPolling = true;
      await this.poll(due);
      this.isPolling = false;
      this.notBeforeMs = Date.now() + this.pauseMs;
    }
  }

  private async sleepUntilDue(): Promise<void> {
    for (;;) {
      await condition(() => this.dueAtMs() < Number.POSITIVE_INFINITY);
      const dueAtMs = this.dueAtMs();
      const waitMs = dueAtMs - Date.now();
      const isSooner = () => this.pollRequested || this.dueAtMs() < dueAtMs;
      if (waitMs > 0) {
        await condition(isSooner, waitMs, { summary: `next polls in ${describeDuration(waitMs)}` });
      }
      if (this.batch.wantsContinueAsNew) {
        await condition(() => false, BATCH_REST_MS, { summary: 'pause to continue as new' });
      }
      if (this.pollRequested || this.dueAtMs() <= Date.now()) return;
    }
  }

  private dueAtMs(): number {
    return Math.max(this.notBeforeMs, Math.min(...this.unanswered().map(({ dueAtMs }) => dueAtMs)));
  }

  private dueBefore(atMs: number): WaitingItem[] {
    return this.unanswered().filter(({ dueAtMs }) => dueAtMs <= atMs);
  }

  private unanswered(): WaitingItem[] {
    return [...this.waiting].filter((item) => !hasAnswer(item));
  }

  private async poll(due: WaitingItem[]): Promise<void> {
    const mayBeLocal = this.batch.busyItems <= MOST_BUSY_DURING_LOCAL_POLL;
    await this.pace.poll({
      mayBeLocal,
      locally: async () => {
        // Items act on all answers together. Local activities end one by one, but a replay ends those of a workflow task all
        // at once: an item that had acted on its answer before the others would do so later in a replay.
        const answers = await Promise.all(chunks(due).map((items) => this.pollLocally(items)));
        for (const give of answers) give();
        return due.every(hasAnswer) || undefined;
      },
      regularly: async () => {
        const rest = due.filter((item) => !hasAnswer(item));
        await Promise.all(
          chunks(rest).map(async (items) => {
            const give = await this.pollRegularly(items);
            give();
          }),
        );
        return true;
      },
    });
  }

  private pollLocally(items: WaitingItem[]): Promise<GiveAnswers> {
    const { pollVideos } = proxyLocalActivities<VideoActivities>({
      ...LOCAL_SHARED_POLL_POLICY,
      summary: summaryOf(items),
    });
    return ask(items, (asked) => pollVideos(asked).catch(undefinedIfUnanswered));
  }

  private pollRegularly(items: WaitingItem[]): Promise<GiveAnswers> {
    const { pollVideos } = proxyActivities<VideoActivities>({
      ...SHARED_POLL_POLICY,
      summary: summaryOf(items),
    });
    return ask(items, pollVideos);
  }
}

/** Gives each item its answer. An item that the poll had no time for stays without one. */
type GiveAnswers = () => void;

async function ask(
  items: WaitingItem[],
  poll: (asked: PollVideosInput) => Promise<SharedPoll[] | undefined>,
): Promise<GiveAnswers> {
  try {
    const service = items[0]?.service;
    const answers = await poll({
      taskIds: items.map(({ taskId }) => taskId),
      ...(service && { service }),
    });
    return () => {
      for (const [index, item] of items.entries()) {
        const given = answers?.[index];
        if (given !== 'not-yet') item.answer = given;
      }
    };
  } catch (error) {
    if (isCancellation(error) || isBug(error)) throw error;
    const { type, details } = readFailure(error) ?? {
      type: 'Unexpected',
      details: { message: String(error) },
    };
    return () => {
      for (const item of items) item.answer = { failure: type, details };
    };
  }
}

const hasAnswer = (item: WaitingItem) => item.answer !== undefined;

const summaryOf = ({ length }: WaitingItem[]) => (length === 1 ? 'poll one task' : `poll ${length} tasks`);

function statusIn(answer: SharedPoll | undefined): TaskStatus {
  if (typeof answer !== 'object') throw createFailure('Unexpected');
  if ('status' in answer) return answer.status;
  throw createFailure(answer.failure, answer.details);
}

/** One activity asks one service. */
function chunks(items: WaitingItem[]): WaitingItem[][] {
  const byService = new Map<string, WaitingItem[]>();
  for (const item of items) {
    const id = item.service ? choiceId(item.service) : '';
    const same = byService.get(id);
    if (same) same.push(item);
    else byService.set(id, [item]);
  }
  return [...byService.values()].flatMap(chunksOfOne);
}

function chunksOfOne(items: WaitingItem[]): WaitingItem[][] {
  const count = Math.ceil(items.length / TASKS_PER_POLL);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * TASKS_PER_POLL, (index + 1) * TASKS_PER_POLL),
  );
}
