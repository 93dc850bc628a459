import type { ServerResponse } from 'node:http';
import type { Client } from '@temporalio/client';
import type { GatewayKey } from './gateway-keys';
import { type HttpRefusal, refusal } from './http-errors';
import { jobsOfCaller, OF_JOBS } from './task-names';

const DAY_MS = 24 * 3_600_000;
/** Temporal's lists lag behind by less than this. Starts since then are counted here if the list lacks them. */
const LISTED_AFTER_MS = 10_000;
/** A query has to stay short; of more starts in that time, the oldest are taken for listed. */
const MOST_RECENT_STARTS = 100;

/**
 * Refuses what a key may not do (yet). Jobs are counted in Temporal, so their limits hold for all gateways of a namespace
 * together; only starts that Temporal does not list yet, which is a matter of milliseconds, are unknown to the others. Each
 * gateway counts its own requests a second: two gateways allow twice as many.
 */
export class LimitKeeper {
  private readonly buckets = new Map<string, { tokens: number; filledAtMs: number }>();
  private readonly starts = new Map<string, { workflowId: string; atMs: number }[]>();

  constructor(
    private readonly client: { workflow: Pick<Client['workflow'], 'count'> },
    private readonly now: () => number = Date.now,
  ) {}

  /** Throws a 429 when the key has made too many requests in the last second. */
  countRequest({ name, limits: { requestsPerSecond } }: Pick<GatewayKey, 'name' | 'limits'>): void {
    if (requestsPerSecond === undefined) return;
    const nowMs = this.now();
    const most = Math.max(requestsPerSecond, 1);
    const bucket = this.buckets.get(name) ?? { tokens: most, filledAtMs: nowMs };
    // A clock that is set back must not take tokens away.
    const passedMs = Math.max(nowMs - bucket.filledAtMs, 0);
    const tokens = Math.min(most, bucket.tokens + (passedMs / 1_000) * requestsPerSecond);
    const isAllowed = tokens >= 1;
    this.buckets.set(name, { tokens: isAllowed ? tokens - 1 : tokens, filledAtMs: nowMs });
    if (isAllowed) return;
    const waitSeconds = Math.max(Math.ceil((1 - tokens) / requestsPerSecond), 1);
    throw tooMany(`This key may have at most ${requestsPerSecond} requests a second.`, waitSeconds);
  }

  /**
   * Throws a 429 when the key has too many jobs. The start is counted from here on, so that POSTs at the same moment do not
   * all find room for one; the returned function takes it back when it failed.
   */
  async countStart({ name, limits }: GatewayKey, workflowId: string): Promise<() => void> {
    const { jobsAtATime, jobsADay } = limits;
    if (jobsAtATime === undefined && jobsADay === undefined) return () => undefined;
    const nowMs = this.now();
    const before = (this.starts.get(name) ?? []).filter(({ atMs }) => atMs > nowMs - LISTED_AFTER_MS);
    const start = { workflowId, atMs: nowMs };
    this.starts.set(name, [...before, start].slice(-MOST_RECENT_STARTS));
    const release = () => {
      const others = (this.starts.get(name) ?? []).filter((one) => one !== start);
      this.starts.set(name, others);
    };
    try {
      const ofKey = jobsOfCaller(name);
      // An id of ours has no quotes.
      const ids = before.map((one) => `'${one.workflowId}'`);
      const listed = ids.length > 0 ? await this.count(OF_JOBS, `WorkflowId IN (${ids.join(', ')})`) : 0;
      const unlisted = ids.length - listed;
      if (
        jobsAtATime !== undefined &&
        (await this.count(ofKey, 'CloseTime IS NULL')) + unlisted >= jobsAtATime
      )
        throw tooMany(`This key may have at most ${describeJobs(jobsAtATime)} at a time.`, 10);
      const today = `StartTime > '${new Date(nowMs - DAY_MS).toISOString()}'`;
      if (jobsADay !== undefined && (await this.count(ofKey, today)) + unlisted >= jobsADay)
        throw tooMany(`This key may have at most ${describeJobs(jobsADay)} in 24 hours.`, 3_600);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  private async count(...conditions: string[]): Promise<number> {
    return (await this.client.workflow.count(conditions.join(' AND '))).count;
  }
}

/** What answers hold until they have ended: each key has a share of it, so that no one key takes it from the others. */
export class Shares {
  private readonly held = new Map<ServerResponse, { key: string; amount: number }>();

  constructor(
    private readonly most: { ofKey: number; inAll: number },
    private readonly what: string,
  ) {}

  /** Throws a 429 when the key, or all keys together, hold too much. */
  take(key: string, amount: number, answer: ServerResponse): void {
    if (answer.destroyed) throw refusal('aborted');
    const holdings = [...this.held.values()];
    const sumOf = (some: typeof holdings) => some.reduce((sum, one) => sum + one.amount, amount);
    if (sumOf(holdings.filter((one) => one.key === key)) > this.most.ofKey)
      throw tooMany(`This key has too many ${this.what}.`, 1);
    if (sumOf(holdings) > this.most.inAll) throw tooMany(`The gateway has too many ${this.what}.`, 1);
    const before = this.held.get(answer);
    if (before === undefined) answer.once('close', () => this.release(answer));
    this.held.set(answer, { key, amount: amount + (before?.amount ?? 0) });
  }

  /** Before the answer has ended. */
  release(answer: ServerResponse): void {
    this.held.delete(answer);
  }
}

const describeJobs = (count: number) => (count === 1 ? '1 job' : `${count} jobs`);

export function tooMany(message: string, retryAfterSeconds: number): HttpRefusal {
  return refusal('too_many', { message, advice: 'Try again later.', retryAfterSeconds });
}
