import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import { type CallOutcome, type Permit, RateLimiter } from '../../src/service';
import {
  concurrentTasks,
  type LimitedService,
  type Simulation,
  simulate,
  tokenBucket,
} from './service-model';

const PASSED: CallOutcome = { kind: 'passed' };
const UNKNOWN: CallOutcome = { kind: 'unknown' };
const limited = (retryAfterMs?: number): CallOutcome => ({ kind: 'limited', retryAfterMs });

type Granted = Extract<Permit, { granted: true }>;

function setUp() {
  let now = 5_000;
  const rateLimiter = new RateLimiter({ clock: () => now });
  const acquire = (call: 'submit' | 'poll' | 'download' = 'submit'): Granted => {
    const permit = rateLimiter.acquire(call);
    if (!permit.granted) throw new Error(`no permit for ${call} for ${permit.waitMs} ms`);
    return permit;
  };
  const submit = (outcome: CallOutcome) => acquire().release(outcome);
  const advance = (ms: number) => {
    now += ms;
  };
  /** How long a call has to wait for a permit; 0 when it gets one, which is released at once. */
  const waitOf = (call: 'submit' | 'poll' | 'download' = 'submit') => {
    const permit = rateLimiter.acquire(call);
    if (!permit.granted) return permit.waitMs;
    permit.release(UNKNOWN);
    return 0;
  };
  /** Refuses until the backoff is 59 s. */
  const refuseTwice = () => {
    submit(limited());
    advance(1_000);
    submit(limited());
  };
  const rampUpToOpen = () => {
    for (let passed = 0; passed < 5; passed += 1) submit(PASSED);
  };
  return { rateLimiter, acquire, submit, advance, waitOf, refuseTwice, rampUpToOpen };
}

describe.each(['poll', 'download'] as const)('the rate limiter for a %s', (call) => {
  it('grants no permit to any job until Retry-After has passed', () => {
    const { acquire, waitOf, advance } = setUp();
    acquire(call).release(limited(7_000));
    expect(waitOf(call)).toBe(7_000);
    advance(6_999);
    expect(waitOf(call)).toBe(1);
    advance(1);
    expect(waitOf(call)).toBe(0);
  });

  it('doubles the backoff with each refusal in a row, up to a minute, and resets it after a success', () => {
    const { acquire, waitOf, advance } = setUp();
    const waits = Array.from({ length: 8 }, () => {
      acquire(call).release(limited());
      const wait = waitOf(call);
      advance(wait);
      return wait;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    acquire(call).release(UNKNOWN);
    acquire(call).release(limited());
    expect(waitOf(call)).toBe(60_000);
    advance(60_000);
    acquire(call).release(PASSED);
    acquire(call).release(limited());
    expect(waitOf(call)).toBe(1_000);
  });

  it('counts calls that are refused together as one refusal, with their longest Retry-After', () => {
    const { acquire, waitOf, advance } = setUp();
    const together = Array.from({ length: 5 }, () => acquire(call));
    const [slow, ...others] = together;
    for (const each of others) each.release(limited());
    expect(waitOf(call)).toBe(1_000);
    slow?.release(limited(3_000));
    expect(waitOf(call)).toBe(3_000);
    advance(3_000);
    acquire(call).release(limited());
    expect(waitOf(call)).toBe(2_000);
  });

  it('waits at least a second and at most the bound, without effect on the other calls', () => {
    const { acquire, rateLimiter, waitOf, advance } = setUp();
    acquire(call).release(limited(86_400_000));
    expect(waitOf(call)).toBe(RETRY_AFTER_MAX_MS);
    expect(waitOf(call === 'poll' ? 'download' : 'poll')).toBe(0);
    expect(waitOf('submit')).toBe(0);
    expect(rateLimiter.submitAllowance()).toBeGreaterThan(0);
    advance(RETRY_AFTER_MAX_MS);
    acquire(call).release(limited(0));
    expect(waitOf(call)).toBe(1_000);
  });
});

describe('the rate limiter for submits', () => {
  it('lets a new worker take one submit at a time, and more as they pass, until there is no limit', () => {
    const { rateLimiter, submit } = setUp();
    const allowances = Array.from({ length: 65 }, () => {
      const allowance = rateLimiter.submitAllowance();
      submit(PASSED);
      return allowance;
    });
    expect(allowances.slice(0, 8)).toEqual(Array(8).fill(1));
    expect([8, 12, 16, 32].map((passed) => allowances[passed])).toEqual([2, 3, 4, 8]);
    expect(allowances[64]).toBe(Number.POSITIVE_INFINITY);
  });

  it('grants no permit after a refusal, and says for how long, at most the bound', () => {
    const { rateLimiter, submit, waitOf, advance } = setUp();
    submit(limited(7_000));
    expect(rateLimiter.submitAllowance()).toBe(0);
    expect(rateLimiter.untilNextChangeMs()).toBe(7_000);
    expect(waitOf()).toBe(7_000);
    advance(7_000);
    expect(rateLimiter.submitAllowance()).toBe(1);
    expect(rateLimiter.untilNextChangeMs()).toBeUndefined();
    submit(limited(86_400_000));
    expect(waitOf()).toBe(RETRY_AFTER_MAX_MS);
  });

  it('waits longer after each refused probe, and probes a minute after the first refusal', () => {
    const { submit, waitOf, advance } = setUp();
    const waits = Array.from({ length: 8 }, () => {
      submit(limited());
      const wait = waitOf();
      advance(wait);
      return wait;
    });
    expect(waits).toEqual([1_000, 59_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000]);
  });

  it('grants one permit for each task that has ended, once Retry-After has passed', () => {
    const { rateLimiter, submit, waitOf, advance, refuseTwice } = setUp();
    refuseTwice();
    rateLimiter.recordTaskEnd();
    rateLimiter.recordTaskEnd();
    submit(PASSED);
    submit(PASSED);
    expect(waitOf()).toBe(120_000);
    advance(120_000);
    submit(limited(6_000));
    rateLimiter.recordTaskEnd();
    expect(waitOf()).toBe(6_000);
    advance(6_000);
    submit(PASSED);
    expect(waitOf()).toBe(240_000);
  });

  it('grants only one permit at a time while the service is full', () => {
    const { rateLimiter, acquire, submit, waitOf } = setUp();
    submit(limited());
    rateLimiter.recordTaskEnd();
    rateLimiter.recordTaskEnd();
    const first = acquire();
    expect(waitOf()).toBe(1_000);
    first.release(PASSED);
    expect(waitOf()).toBe(0);
  });

  it('grants no permit before the submits that ran during the refusal are released', () => {
    const { rateLimiter, acquire, waitOf } = setUp();
    const [first, second] = [acquire(), acquire()];
    first.release(limited());
    rateLimiter.recordTaskEnd();
    expect(waitOf()).toBe(1_000);
    second.release(PASSED);
    expect(waitOf()).toBe(0);
    expect(rateLimiter.submitAllowance()).toBe(1);
  });

  it('grants permits by an allowance that doubles after a probe that passed, until there is no limit', () => {
    const { rateLimiter, acquire, submit, waitOf, advance } = setUp();
    submit(limited());
    advance(1_000);
    const allowances = [submit, submit].map((pass) => {
      pass(PASSED);
      return rateLimiter.submitAllowance();
    });
    expect(allowances).toEqual([1, 2]);
    const both = [acquire(), acquire()];
    expect(waitOf()).toBe(1_000);
    for (const one of both) one.release(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(8);
    submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
  });

  it('calls back when the allowance may have changed, until it is stopped', () => {
    const { rateLimiter, acquire } = setUp();
    let calls = 0;
    const stop = rateLimiter.onChange(() => {
      calls += 1;
    });
    const permit = acquire();
    expect(calls).toBe(1);
    rateLimiter.recordTaskEnd();
    expect(calls).toBe(1);
    permit.release(limited());
    expect(calls).toBe(2);
    rateLimiter.recordTaskEnd();
    expect(calls).toBe(3);
    stop();
    rateLimiter.recordTaskEnd();
    expect(calls).toBe(3);
  });
});

describe('the rate limiter at a service that limits submits in a time', () => {
  /** The service refuses, has room for two after a second, and refuses again: two in a second. */
  const setUpPaced = () => {
    const limiter = setUp();
    limiter.submit(limited());
    limiter.advance(1_000);
    limiter.submit(PASSED);
    limiter.submit(PASSED);
    limiter.submit(limited());
    return limiter;
  };

  it('keeps to the pace at which the service accepted submits between two refusals', () => {
    const { rateLimiter, acquire, waitOf, advance } = setUpPaced();
    expect(waitOf()).toBe(500);
    expect(rateLimiter.untilNextChangeMs()).toBe(500);
    advance(500);
    const [, second] = [acquire(), waitOf()];
    expect(second).toBeGreaterThan(400);
    advance(500);
    acquire();
    expect(rateLimiter.submitAllowance()).toBe(2);
  });

  it('grants the permits that were taken late, but not all at once', () => {
    const { acquire, waitOf, advance } = setUpPaced();
    advance(30_000);
    for (let late = 0; late < 3; late += 1) acquire().release(PASSED);
    expect(waitOf()).toBeGreaterThan(0);
  });

  it('probes again when the service accepts nothing at that pace', () => {
    const { submit, waitOf, advance } = setUpPaced();
    const waits = Array.from({ length: 4 }, () => {
      const wait = waitOf();
      advance(wait);
      submit(limited());
      return wait;
    });
    expect(waits).toEqual([500, 1_000, 2_000, 59_000]);
  });
});

/**
 * The limiter used 63 to 76 % of 120 submits a minute in some runs, for two reasons. Where tasks ended as fast as the first
 * refusals came, it took the limit for one on running tasks and only replaced those that had ended, which the service never
 * refused. And a worker took the next submit only when the last one was sent, which takes longer than a turn on a busy machine.
 */
describe('a simulated worker with more jobs than the service takes', () => {
  const SEEDS = Array.from({ length: 6 }, (_, index) => index + 1);
  const STALLS = { everyMs: [5_000, 30_000], forMs: [100, 1_000] } as const;

  it.each<[what: string, create: () => LimitedService, setting: Omit<Simulation, 'seed'>]>([
    [
      '120 a minute, with polls that find the ends of tasks late',
      () => tokenBucket(2, 5),
      { taskMs: 1_000, pollDelayMs: [500, 5_000] },
    ],
    [
      '120 a minute, in a process that stands still at times',
      () => tokenBucket(2, 5),
      { taskMs: 1_000, stalls: STALLS },
    ],
    ['120 a minute, on a busy machine', () => tokenBucket(2, 5), { taskMs: 1_000, pickUpMs: [300, 1_000] }],
    [
      '5 places, in a process that stands still at times',
      () => concurrentTasks(5),
      { taskMs: 30_000, pollDelayMs: [100, 1_400], stalls: STALLS },
    ],
  ])(
    'uses at least 97 %% of its limit in every run, with at most 5 %% refused: %s',
    (_limit, create, setting) => {
      const runs = SEEDS.map((seed) => simulate(create(), { ...setting, seed }));
      expect(Math.min(...runs.map(({ used }) => used))).toBeGreaterThanOrEqual(0.97);
      expect(Math.max(...runs.map(({ refused }) => refused))).toBeLessThanOrEqual(0.05);
    },
  );
});

describe('a rate limiter that is off', () => {
  it.each(['submit', 'poll', 'download'] as const)('permits every %s, also after a 429', (call) => {
    const { rateLimiter, acquire, waitOf } = setUp();
    acquire(call).release(limited(60_000));
    rateLimiter.turnOff();
    expect(waitOf(call)).toBe(0);
    acquire(call).release(limited(60_000));
    expect(waitOf(call)).toBe(0);
  });
});
