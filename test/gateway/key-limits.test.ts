import type { Client } from '@temporalio/client';
import type { KeyLimits } from '../../src/gateway/gateway-keys';
import { HttpRefusal } from '../../src/gateway/http-errors';
import { LimitKeeper } from '../../src/gateway/key-limits';

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600_000;

/** Jobs as Temporal lists them, which all gateways share; `lagMs` is how late. */
class ListedJobs {
  readonly jobs: { caller: string; id: string; atMs: number; isRunning: boolean }[] = [];
  nowMs = Date.parse('2026-01-01T12:00:00Z');
  lagMs = 0;

  workflow = {
    count: async (query = '') => {
      const [, ids] = /WorkflowId IN \((.*)\)/.exec(query) ?? [];
      const [, caller] = /STARTS_WITH 'gateway-(.*)-'/.exec(query) ?? [];
      const [, since = ''] = /StartTime > '(.*)'/.exec(query) ?? [];
      const counted = this.visible().filter(
        (job) =>
          (ids === undefined ? job.caller === caller : ids.includes(`'${job.id}'`)) &&
          (job.isRunning || !query.includes('CloseTime IS NULL')) &&
          (since === '' || job.atMs > Date.parse(since)),
      );
      return { count: counted.length };
    },
  } as unknown as Client['workflow'];

  private visible() {
    return this.jobs.filter(({ atMs }) => atMs <= this.nowMs - this.lagMs);
  }
}

let temporal: ListedJobs;
let ids = 0;
beforeEach(() => {
  temporal = new ListedJobs();
});

/** A gateway whose keys all have the same limits. */
function keeper(limits: KeyLimits) {
  const kept = new LimitKeeper(temporal, () => temporal.nowMs);
  return {
    countRequest: (name: string) => kept.countRequest({ name, limits }),
    countStart: (name: string, id: string) => kept.countStart({ name, limits }, id),
  };
}
type Keeper = ReturnType<typeof keeper>;

async function start(gateway: Keeper, caller = 'shop') {
  const id = `job-${ids++}`;
  await gateway.countStart(caller, id);
  const job = { caller, id, atMs: temporal.nowMs, isRunning: true };
  temporal.jobs.push(job);
  const end = () => {
    job.isRunning = false;
  };
  return { end };
}

async function refusal(work: () => unknown) {
  try {
    await work();
  } catch (error) {
    if (error instanceof HttpRefusal) return error.refused;
    throw error;
  }
  return undefined;
}

describe('requests a second', () => {
  it('come in bursts of a second, refill evenly, and say when to come back', async () => {
    const gateway = keeper({ requestsPerSecond: 2 });
    gateway.countRequest('shop');
    gateway.countRequest('shop');
    expect(await refusal(() => gateway.countRequest('shop'))).toMatchObject({
      status: 429,
      retryAfterSeconds: 1,
    });
    temporal.nowMs += SECOND_MS / 2;
    gateway.countRequest('shop');
    expect(await refusal(() => gateway.countRequest('shop'))).toMatchObject({ status: 429 });
    temporal.nowMs += 60 * SECOND_MS;
    gateway.countRequest('shop');
    gateway.countRequest('shop');
    expect(await refusal(() => gateway.countRequest('shop'))).toMatchObject({ status: 429 });
  });

  it('may be less than one', async () => {
    const gateway = keeper({ requestsPerSecond: 0.1 });
    gateway.countRequest('shop');
    expect(await refusal(() => gateway.countRequest('shop'))).toMatchObject({ retryAfterSeconds: 10 });
    temporal.nowMs += 10 * SECOND_MS;
    gateway.countRequest('shop');
  });

  it('of one key leave the other alone, and a clock that is set back takes nothing', async () => {
    const gateway = keeper({ requestsPerSecond: 2 });
    gateway.countRequest('shop');
    temporal.nowMs -= DAY_MS;
    gateway.countRequest('shop');
    gateway.countRequest('press');
  });

  it('are counted by each gateway for itself', () => {
    const gateways = [keeper({ requestsPerSecond: 1 }), keeper({ requestsPerSecond: 1 })];
    for (const gateway of gateways) gateway.countRequest('shop');
  });
});

describe('jobs at a time', () => {
  it('are refused until one has ended', async () => {
    const gateway = keeper({ jobsAtATime: 2 });
    const first = await start(gateway);
    await start(gateway);
    expect(await refusal(() => start(gateway))).toMatchObject({
      status: 429,
      message: 'This key may have at most 2 jobs at a time.',
      retryAfterSeconds: 10,
    });
    await start(gateway, 'press');
    first.end();
    await start(gateway);
  });

  it('hold for POSTs at the same moment, and while Temporal does not list them yet', async () => {
    temporal.lagMs = 5 * SECOND_MS;
    const gateway = keeper({ jobsAtATime: 2 });
    const starts = await Promise.all([1, 2, 3, 4].map(() => refusal(() => start(gateway))));
    expect(starts.filter((refused) => refused === undefined)).toHaveLength(2);
    temporal.nowMs += SECOND_MS;
    expect(await refusal(() => start(gateway))).toMatchObject({ status: 429 });
  });

  it('hold for two gateways together, as soon as Temporal lists a job', async () => {
    const [one, other] = [keeper({ jobsAtATime: 1 }), keeper({ jobsAtATime: 1 })];
    await start(one);
    expect(await refusal(() => start(other))).toMatchObject({ status: 429 });
  });

  it('a start that failed gives its place back', async () => {
    temporal.lagMs = 5 * SECOND_MS;
    const gateway = keeper({ jobsAtATime: 1 });
    const release = await gateway.countStart('shop', 'failed');
    release();
    await start(gateway);
  });
});

it('jobs a day are those of the last 24 hours, ended or not', async () => {
  const gateway = keeper({ jobsADay: 2 });
  (await start(gateway)).end();
  temporal.nowMs += DAY_MS / 2;
  (await start(gateway)).end();
  expect(await refusal(() => start(gateway))).toMatchObject({ status: 429, retryAfterSeconds: 3_600 });
  temporal.nowMs += DAY_MS / 2;
  await start(gateway);
});
