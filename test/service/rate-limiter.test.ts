import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import type { CallOutcome, Permit } from '../../src/service/permit';
import { RateLimiter } from '../../src/service/rate-limiter';

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
  /** Refuses until the backoff is 4 s. */
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
  it('grants any number of permits while no limit is known', () => {
    const { acquire } = setUp();
    for (let calls = 0; calls < 1_000; calls += 1) acquire(call);
  });

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

  it('waits at least a second and at most the bound', () => {
    const { acquire, waitOf, advance } = setUp();
    acquire(call).release(limited(86_400_000));
    expect(waitOf(call)).toBe(RETRY_AFTER_MAX_MS);
    advance(RETRY_AFTER_MAX_MS);
    acquire(call).release(limited(0));
    expect(waitOf(call)).toBe(1_000);
  });

  it('does not affect the other calls', () => {
    const { acquire, rateLimiter, waitOf } = setUp();
    acquire(call).release(limited(7_000));
    expect(waitOf(call === 'poll' ? 'download' : 'poll')).toBe(0);
    expect(waitOf('submit')).toBe(0);
    expect(rateLimiter.submitAllowance()).toBeGreaterThan(0);
  });
});

describe('the rate limiter for submits', () => {
  it('grants any number of permits while no limit is known', () => {
    const { rateLimiter, acquire } = setUp();
    for (let calls = 0; calls < 1_000; calls += 1) acquire().release(PASSED);
    for (let calls = 0; calls < 1_000; calls += 1) acquire();
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
    expect(rateLimiter.untilNextChangeMs()).toBeUndefined();
  });

  it('lets a new worker take one more submit each second while answers are slow', () => {
    const { rateLimiter, acquire, advance } = setUp();
    expect(rateLimiter.untilNextChangeMs()).toBeUndefined();
    advance(3_600_000);
    acquire();
    expect(rateLimiter.submitAllowance()).toBe(1);
    advance(400);
    expect(rateLimiter.untilNextChangeMs()).toBe(600);
    advance(600);
    expect(rateLimiter.submitAllowance()).toBe(2);
  });

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

  it('grants no permit after a refusal, and says for how long', () => {
    const { rateLimiter, submit, waitOf, advance } = setUp();
    submit(limited(7_000));
    expect(rateLimiter.submitAllowance()).toBe(0);
    expect(rateLimiter.untilNextChangeMs()).toBe(7_000);
    expect(waitOf()).toBe(7_000);
    advance(7_000);
    expect(rateLimiter.submitAllowance()).toBe(1);
    expect(rateLimiter.untilNextChangeMs()).toBeUndefined();
  });

  it('waits at most the bound', () => {
    const { submit, waitOf } = setUp();
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
    expect(waits).toEqual([1_000, 4_000, 16_000, 40_000, 60_000, 60_000, 60_000, 60_000]);
  });

  it('waits for the longer of the backoff and Retry-After before a probe', () => {
    const { submit, waitOf, refuseTwice, advance } = setUp();
    refuseTwice();
    advance(4_000);
    submit(limited(3_000));
    expect(waitOf()).toBe(16_000);
  });

  it('counts submits that are refused together as one refusal, with their longest Retry-After', () => {
    const { rateLimiter, acquire, submit, waitOf, advance } = setUp();
    const [slow, ...others] = Array.from({ length: 5 }, () => acquire());
    for (const each of others) each.release(limited());
    slow?.release(limited(3_000));
    expect(waitOf()).toBe(3_000);
    advance(3_000);
    submit(limited());
    expect(waitOf()).toBe(4_000);
    expect(rateLimiter.submitAllowance()).toBe(0);
  });

  it('still counts a task that ended after a refusal when an earlier submit is refused too', () => {
    const { rateLimiter, acquire, submit, waitOf, advance } = setUp();
    const [first, slow] = [acquire(), acquire()];
    first.release(limited());
    rateLimiter.recordTaskEnd();
    slow.release(limited(3_000));
    expect(waitOf()).toBe(3_000);
    advance(3_000);
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('grants one permit for each task that has ended, once Retry-After has passed', () => {
    const { rateLimiter, submit, waitOf, advance, refuseTwice } = setUp();
    refuseTwice();
    rateLimiter.recordTaskEnd();
    rateLimiter.recordTaskEnd();
    submit(PASSED);
    submit(PASSED);
    expect(waitOf()).toBe(4_000);
    advance(4_000);
    submit(limited(6_000));
    rateLimiter.recordTaskEnd();
    expect(waitOf()).toBe(6_000);
    advance(6_000);
    submit(PASSED);
    expect(waitOf()).toBe(16_000);
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

  it('forgets ended tasks after a refusal, and keeps the backoff when an ended task was the reason for the submit', () => {
    const { rateLimiter, submit, waitOf, refuseTwice } = setUp();
    refuseTwice();
    rateLimiter.recordTaskEnd();
    rateLimiter.recordTaskEnd();
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('counts ended tasks only while the service is full, and at most a hundred', () => {
    const { rateLimiter, submit, waitOf } = setUp();
    rateLimiter.recordTaskEnd();
    submit(limited());
    expect(waitOf()).toBe(1_000);
    for (let ended = 0; ended < 150; ended += 1) rateLimiter.recordTaskEnd();
    for (let passed = 0; passed < 100; passed += 1) submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('postpones the probe while ended tasks are replaced, but at most until the bound', () => {
    const { rateLimiter, submit, waitOf, advance, refuseTwice } = setUp();
    refuseTwice();
    for (let waited = 0; waited < RETRY_AFTER_MAX_MS - 3_000; waited += 3_000) {
      advance(3_000);
      rateLimiter.recordTaskEnd();
      submit(PASSED);
      expect(waitOf()).toBeGreaterThanOrEqual(3_000);
    }
    advance(2_000);
    rateLimiter.recordTaskEnd();
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('doubles the allowance after a probe that passed, until there is no limit', () => {
    const { rateLimiter, submit, advance } = setUp();
    submit(limited());
    advance(1_000);
    const allowances = Array.from({ length: 5 }, () => {
      submit(PASSED);
      return rateLimiter.submitAllowance();
    });
    expect(allowances).toEqual([1, 2, 4, 8, Number.POSITIVE_INFINITY]);
  });

  it('grants as many permits as the current allowance', () => {
    const { acquire, submit, waitOf, advance } = setUp();
    submit(limited());
    advance(1_000);
    submit(PASSED);
    submit(PASSED);
    acquire();
    acquire();
    expect(waitOf()).toBe(1_000);
  });

  it('never shortens the backoff below a second, however often a probe passes', () => {
    const { rateLimiter, submit, waitOf, advance } = setUp();
    submit(limited());
    rateLimiter.recordTaskEnd();
    submit(PASSED);
    advance(1_000);
    submit(PASSED);
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('starts with the shortest backoff again after a minute without a limit', () => {
    const { submit, waitOf, advance, refuseTwice, rampUpToOpen } = setUp();
    refuseTwice();
    advance(4_000);
    rampUpToOpen();
    advance(60_000);
    submit(limited());
    expect(waitOf()).toBe(1_000);
  });

  it('keeps the backoff when there was no limit for a moment only and ended tasks make room', () => {
    const { rateLimiter, submit, waitOf, advance, refuseTwice, rampUpToOpen } = setUp();
    refuseTwice();
    rateLimiter.recordTaskEnd();
    submit(PASSED);
    advance(4_000);
    rampUpToOpen();
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('is limited again by a refusal to a submit that began before the limit was removed', () => {
    const { rateLimiter, acquire, submit, advance } = setUp();
    submit(limited());
    advance(1_000);
    submit(PASSED);
    submit(PASSED);
    const slow = acquire();
    for (let passed = 0; passed < 3; passed += 1) submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
    slow.release(limited());
    expect(rateLimiter.submitAllowance()).toBe(0);
  });

  it('takes back the permit of a submit that never reached the service', () => {
    const { rateLimiter, submit, waitOf, advance } = setUp();
    submit(limited());
    rateLimiter.recordTaskEnd();
    submit(UNKNOWN);
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
    advance(1_000);
    submit(UNKNOWN);
    expect(rateLimiter.submitAllowance()).toBe(1);
    submit(PASSED);
    submit(UNKNOWN);
    expect(rateLimiter.submitAllowance()).toBe(1);
    submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(2);
  });

  it('ignores a second release', () => {
    const { rateLimiter, acquire, submit, waitOf, advance } = setUp();
    submit(limited());
    advance(1_000);
    const probe = acquire();
    probe.release(PASSED);
    probe.release(PASSED);
    probe.release(limited());
    expect(rateLimiter.submitAllowance()).toBe(1);
    acquire();
    expect(waitOf()).toBe(1_000);
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

  it('has a clock of its own', () => {
    const rateLimiter = new RateLimiter();
    const permit = rateLimiter.acquire('submit');
    if (permit.granted) permit.release(limited(5_000));
    expect(rateLimiter.untilNextChangeMs()).toBeGreaterThan(4_000);
    expect(rateLimiter.untilNextChangeMs()).toBeLessThanOrEqual(5_000);
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

  it('waits for Retry-After if that is longer', () => {
    const { submit, waitOf, advance } = setUpPaced();
    advance(500);
    submit(PASSED);
    advance(500);
    submit(limited(7_000));
    expect(waitOf()).toBe(7_000);
  });

  it('grants no permit for an ended task, which makes no room there', () => {
    const { rateLimiter, waitOf } = setUpPaced();
    rateLimiter.recordTaskEnd();
    expect(waitOf()).toBe(500);
  });

  it('quickens the pace as long as nothing is refused', () => {
    const { acquire, waitOf, advance } = setUpPaced();
    const waits = Array.from({ length: 12 }, () => {
      const wait = waitOf();
      advance(wait);
      acquire().release(PASSED);
      return wait;
    });
    expect(waits[11]).toBeLessThan(400);
  });

  it('grants the permits that were taken late, but not all at once', () => {
    const { acquire, waitOf, advance } = setUpPaced();
    advance(1_900);
    acquire().release(PASSED);
    acquire().release(PASSED);
    expect(waitOf()).toBeGreaterThan(0);
  });

  it('probes again when the service accepts nothing at that pace', () => {
    const { submit, waitOf, advance } = setUpPaced();
    advance(500);
    submit(limited());
    expect(waitOf()).toBe(4_000);
    advance(4_000);
    submit(limited());
    expect(waitOf()).toBe(16_000);
  });

  it('learns nothing from a time without submits', () => {
    const { submit, waitOf, advance } = setUp();
    submit(limited());
    advance(1_000);
    submit(PASSED);
    advance(30_000);
    submit(PASSED);
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('learns nothing from such a time while it keeps a pace either', () => {
    const { submit, waitOf, advance } = setUpPaced();
    advance(30_000);
    submit(PASSED);
    advance(500);
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('finds out that the limit is gone when nothing was refused for the bound', () => {
    const { rateLimiter, submit, advance } = setUpPaced();
    advance(RETRY_AFTER_MAX_MS + 1_000);
    for (let passed = 0; passed < 5; passed += 1) submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a hundred jobs of 10 s at a service that does five at a time, or limits their rate', () => {
  it('keep the service busy with few refusals when their ends are recorded', () => {
    const { busy, refused, ended } = simulate({ submitters: 1, endsRecordedAfterMs: 500 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.9);
    expect(refused).toBeLessThan(0.05);
  });

  it('do so when many are submitted at once', () => {
    const { busy, refused, ended } = simulate({ submitters: 10, endsRecordedAfterMs: 500 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.9);
    expect(refused).toBeLessThan(0.2);
  });

  it('use a limit of one submit a second with few refusals', () => {
    const { refused, ended, tookMs } = simulate({
      submitters: 8,
      endsRecordedAfterMs: 500,
      hasRoom: rateLimit(1, 5),
    });
    expect(ended).toBe(100);
    expect(tookMs).toBeLessThan(120_000);
    expect(refused).toBeLessThan(0.1);
  });

  it('all end even when no end is recorded', () => {
    const { busy, refused, ended } = simulate({ submitters: 1 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.5);
    expect(refused).toBeLessThan(0.5);
  });
});

interface Setting {
  /** How many POSTs may run at once. */
  submitters: number;
  /** Without it no end is recorded. */
  endsRecordedAfterMs?: number;
  /** The service's limit: five tasks at a time unless set. */
  hasRoom?: (running: number, now: number) => boolean;
}

/** Accepts `burst` submits at once, then `perSecond`. */
function rateLimit(perSecond: number, burst: number) {
  let [tokens, filledAt] = [burst, 0];
  return (_running: number, now: number) => {
    tokens = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1_000);
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

function simulate({ submitters, endsRecordedAfterMs, hasRoom = (running) => running < 5 }: Setting) {
  const [JOBS, LIMIT, JOB_MS, ONE_WAY_MS, TICK_MS, MAX_MS] = [100, 5, 10_000, 100, 50, 3_600_000];
  let now = 0;
  const agenda = new Map<number, (() => void)[]>();
  const after = (ms: number, event: () => void) => {
    agenda.set(now + ms, [...(agenda.get(now + ms) ?? []), event]);
  };

  const rateLimiter = new RateLimiter({ clock: () => now });
  let waiting = JOBS;
  let posting = 0;
  let running = 0;
  let ended = 0;
  let posts = 0;
  let refusals = 0;

  const end = () => {
    running -= 1;
    ended += 1;
    if (endsRecordedAfterMs !== undefined) after(endsRecordedAfterMs, () => rateLimiter.recordTaskEnd());
  };
  const serve = (): CallOutcome => {
    posts += 1;
    if (hasRoom(running, now)) {
      running += 1;
      after(JOB_MS, end);
      return PASSED;
    }
    refusals += 1;
    return limited();
  };
  const post = ({ release }: Granted) => {
    waiting -= 1;
    posting += 1;
    after(ONE_WAY_MS, () => {
      const outcome = serve();
      after(ONE_WAY_MS, () => {
        posting -= 1;
        if (outcome.kind === 'limited') waiting += 1;
        release(outcome);
      });
    });
  };

  for (; ended < JOBS && now < MAX_MS; now += TICK_MS) {
    for (const event of agenda.get(now) ?? []) event();
    while (waiting > 0 && posting < Math.min(submitters, rateLimiter.submitAllowance())) {
      const permit = rateLimiter.acquire('submit');
      if (!permit.granted) break;
      post(permit);
    }
  }
  return { ended, tookMs: now, busy: (JOBS * JOB_MS) / (LIMIT * now), refused: refusals / posts };
}

describe('a rate limiter that is off', () => {
  it.each(['submit', 'poll', 'download'] as const)('permits every %s, also after a 429', (call) => {
    const { rateLimiter, acquire, waitOf } = setUp();
    acquire(call).release(limited(60_000));
    rateLimiter.turnOff();
    expect(waitOf(call)).toBe(0);
    acquire(call).release(limited(60_000));
    expect(waitOf(call)).toBe(0);
  });

  it('allows any number of submits, and calls back once', () => {
    const { rateLimiter, submit } = setUp();
    submit(limited(60_000));
    expect([rateLimiter.submitAllowance(), rateLimiter.untilNextChangeMs()]).toEqual([0, 60_000]);
    let calls = 0;
    rateLimiter.onChange(() => {
      calls += 1;
    });
    rateLimiter.turnOff();
    rateLimiter.turnOff();
    expect([rateLimiter.submitAllowance(), rateLimiter.untilNextChangeMs(), calls]).toEqual([
      Number.POSITIVE_INFINITY,
      undefined,
      1,
    ]);
  });
});
