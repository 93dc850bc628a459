import type { Client } from '@temporalio/client';
import { WORKFLOW_TYPE } from '../contract/names';
import { Refusal } from './http-errors';
import { prefixOf } from './task-names';

/** What one key may do. A limit that is not set does not apply. */
export interface KeyLimits {
  requestsPerSecond?: number;
  jobsAtATime?: number;
  jobsADay?: number;
}

const DAY_MS = 24 * 3_600_000;
/** Temporal's lists lag behind, so starts of the last seconds are counted here as well. */
const LISTED_AFTER_MS = 10_000;

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** Refuses what a key may not do (yet). All gateways of a namespace count the same jobs, but each its own requests. */
export class LimitKeeper {
  private readonly buckets = new Map<string, Bucket>();
  private readonly starts = new Map<string, number[]>();

  constructor(
    private readonly client: Client,
    private readonly limits: KeyLimits,
    private readonly now: () => number = Date.now,
  ) {}

  /** Throws a 429 when the key has made too many requests in the last second. */
  countRequest(caller: string): void {
    const { requestsPerSecond } = this.limits;
    if (requestsPerSecond === undefined) return;
    const nowMs = this.now();
    const most = Math.max(requestsPerSecond, 1);
    const bucket = this.buckets.get(caller) ?? { tokens: most, filledAtMs: nowMs };
    const refilled = bucket.tokens + ((nowMs - bucket.filledAtMs) / 1_000) * requestsPerSecond;
    const tokens = Math.min(most, refilled);
    const isAllowed = tokens >= 1;
    this.buckets.set(caller, { tokens: isAllowed ? tokens - 1 : tokens, filledAtMs: nowMs });
    if (isAllowed) return;
    throw tooMany(
      `at most ${requestsPerSecond} requests a second`,
      Math.ceil((1 - tokens) / requestsPerSecond),
    );
  }

  /** Throws a 429 when the key has too many jobs. The start of a job that is already there is not refused. */
  async countStart(caller: string): Promise<void> {
    const { jobsAtATime, jobsADay } = this.limits;
    const recent = this.recentStarts(caller);
    if (jobsAtATime !== undefined) {
      const running = await this.count(caller, `ExecutionStatus = 'Running'`);
      if (running + recent.length >= jobsAtATime) throw tooMany(`at most ${jobsAtATime} jobs at a time`, 10);
    }
    if (jobsADay !== undefined) {
      const since = new Date(this.now() - DAY_MS).toISOString();
      const today = await this.count(caller, `StartTime > '${since}'`);
      if (today + recent.length >= jobsADay) throw tooMany(`at most ${jobsADay} jobs in 24 hours`, 3_600);
    }
    recent.push(this.now());
    this.starts.set(caller, recent);
  }

  private recentStarts(caller: string): number[] {
    const since = this.now() - LISTED_AFTER_MS;
    return (this.starts.get(caller) ?? []).filter((atMs) => atMs > since);
  }

  /** Jobs that Temporal lists and that were not started just now, which are counted apart. */
  private async count(caller: string, condition: string): Promise<number> {
    const listedBefore = new Date(this.now() - LISTED_AFTER_MS).toISOString();
    const query = [
      `WorkflowType = '${WORKFLOW_TYPE}'`,
      `WorkflowId STARTS_WITH '${prefixOf(caller)}'`,
      `StartTime <= '${listedBefore}'`,
      condition,
    ].join(' AND ');
    return (await this.client.workflow.count(query)).count;
  }
}

function tooMany(rule: string, retryAfterSeconds: number): Refusal {
  return new Refusal({
    status: 429,
    code: 'too_many',
    message: `This key may have ${rule}.`,
    advice: 'Try again later.',
    retryAfterSeconds,
  });
}
