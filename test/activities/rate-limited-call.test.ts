import { callWithinLimits } from '../../activities/rate-limited-call';
import { type CallOutcome, type Permit, type RateLimiter, ServiceFault } from '../../src/service';
import { beforeDeadline, failureOf, startAttempt } from './activity-world';

/** A rate limiter that answers with these permits and notes what it is told. */
function limiterWith(...permits: ('granted' | number)[]) {
  const told: unknown[] = [];
  const limiter = {
    acquire: (call: string): Permit => {
      told.push(call);
      const next = permits.shift() ?? 'granted';
      if (next !== 'granted') return { granted: false, waitMs: next } as Permit;
      return { granted: true, release: (outcome: CallOutcome) => void told.push(outcome) } as Permit;
    },
    followServerClock: async (_server: object, readClock: () => Promise<number>) => {
      told.push(await readClock());
    },
  };
  return { limiter: limiter as object as RateLimiter, told };
}

/** A connection to a server that skips time, which says this time or fails. */
const skipping = (time: object | Error | undefined) => ({
  connection: {
    withDeadline: beforeDeadline,
    testService: {
      getCurrentTime: async () => {
        if (time instanceof Error) throw time;
        return { time };
      },
    },
  },
});

const call = (
  limiter: RateLimiter,
  work: () => Promise<unknown>,
  client?: object,
  reported: unknown[] = [],
) =>
  startAttempt(
    () => callWithinLimits({ rateLimiter: limiter }, 'poll', work),
    undefined,
    {},
    reported,
    client,
  );
const limited = new ServiceFault('answered', { status: 429, limited: true, retryAfterMs: 5_000 });
const throwing = (error: unknown) => async () => {
  throw error;
};

test('a call that passes says so to the rate limiter', async () => {
  const { limiter, told } = limiterWith('granted');
  expect(await call(limiter, async () => 'answer').result).toBe('answer');
  expect(told).toEqual(['poll', { kind: 'passed' }]);
});

test.each<[string, unknown, CallOutcome]>([
  ['a 429', limited, { kind: 'limited', retryAfterMs: 5_000 }],
  ['a 500', new ServiceFault('answered', { status: 500 }), { kind: 'unknown' }],
  ['a fault of the storage', new Error('the disk is full'), { kind: 'unknown' }],
])('%s is told to the rate limiter, and thrown', async (_what, error, outcome) => {
  const { limiter, told } = limiterWith('granted');
  await expect(call(limiter, throwing(error)).result).rejects.toBe(error);
  expect(told).toEqual(['poll', outcome]);
});

test('without a permit nothing is called, and the failure says when to come back', async () => {
  const { limiter, told } = limiterWith(7_000);
  const reported: unknown[] = [];
  const paused = call(limiter, throwing(new Error('was called')), undefined, reported);
  const { failure, details } = await failureOf(paused);
  expect(JSON.stringify(reported)).not.toContain('clock');
  expect([failure.type, details.retryAfter]).toEqual(['RateLimited', 7]);
  expect(details.message).toContain('nothing was sent');
  expect(told).toEqual(['poll']);
});

describe('at a server that skips time', () => {
  const at = skipping({ seconds: 12, nanos: 5_000_000 });

  test('a pause is measured by its clock, and may be over', async () => {
    const { limiter, told } = limiterWith(7_000, 'granted');
    expect(await call(limiter, async () => 'answer', at).result).toBe('answer');
    expect(told).toEqual(['poll', 12_005, 'poll', { kind: 'passed' }]);
  });

  test('a pause that is not over stays one', async () => {
    const { limiter, told } = limiterWith(7_000, 3_000);
    const { details } = await failureOf(call(limiter, async () => 'answer', at));
    expect(details.retryAfter).toBe(3);
    expect(told).toEqual(['poll', 12_005, 'poll']);
  });

  test('its clock is read right after a 429, and not after other answers', async () => {
    const first = limiterWith();
    await expect(call(first.limiter, throwing(limited), at).result).rejects.toBe(limited);
    expect(first.told.at(-1)).toBe(12_005);
    const other = limiterWith();
    await call(other.limiter, throwing(new Error('no')), at).result.catch(() => undefined);
    expect(other.told).not.toContain(12_005);
  });

  test('a clock that says nothing is at its start', async () => {
    const { limiter, told } = limiterWith(7_000);
    await call(limiter, async () => 'answer', skipping(undefined)).result;
    expect(told).toContain(0);
  });

  test('a clock that cannot be read leaves the pause as it is', async () => {
    const { limiter, told } = limiterWith(7_000);
    const reported: unknown[] = [];
    const { details } = await failureOf(
      call(limiter, async () => 'answer', skipping(new Error('no clock')), reported),
    );
    expect([details.retryAfter, told]).toEqual([7, ['poll']]);
    expect(JSON.stringify(reported)).toContain('clock');
  });
});

test.each([{}, { testService: undefined }])(
  'any other server is not asked for its time (%j)',
  async (more) => {
    const { limiter, told } = limiterWith(7_000);
    const connection = { withDeadline: async () => void told.push('asked'), ...more };
    await failureOf(call(limiter, async () => 'answer', { connection }));
    expect(told).toEqual(['poll']);
  },
);
