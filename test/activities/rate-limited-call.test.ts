import { callWithinLimits } from '../../activities/call-within-limits';
import { type CallOutcome, type Permit, type RateLimiter, ServiceFault } from '../../src/service';
import { failureOf, startAttempt } from './activity-world';

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
    turnOff: () => void told.push('off'),
  };
  return { limiter: limiter as object as RateLimiter, told };
}

const call = (limiter: RateLimiter, work: () => Promise<unknown>, client?: object) =>
  startAttempt(() => callWithinLimits({ rateLimiter: limiter }, 'poll', work), undefined, {}, [], client);
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
  const paused = call(limiter, throwing(new Error('was called')));
  const { failure, details } = await failureOf(paused);
  expect([failure.type, details.retryAfter]).toEqual(['RateLimited', 7]);
  expect(details.message).toContain('nothing was sent');
  expect(told).toEqual(['poll']);
});

test('the rate limiter is off at a server that skips time', async () => {
  const { limiter, told } = limiterWith('granted');
  const client = { connection: { testService: {} } };
  expect(await call(limiter, async () => 'answer', client).result).toBe('answer');
  expect(told).toEqual(['off', 'poll', { kind: 'passed' }]);
});

test.each([{}, { testService: undefined }])('it is on at any other server (%j)', async (connection) => {
  const { limiter, told } = limiterWith(7_000);
  await failureOf(call(limiter, async () => 'answer', { connection }));
  expect(told).toEqual(['poll']);
});
