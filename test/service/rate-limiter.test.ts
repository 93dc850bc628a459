import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import { type CallOutcome, type Permit, RateLimiter } from '../../src/service/rate-limiter';

const PASSED: CallOutcome = { kind: 'passed' };
const NOTHING_LEARNT: CallOutcome = { kind: 'nothing-learnt' };
const limited = (retryAfterMs?: number): CallOutcome => ({ kind: 'limited', retryAfterMs });

type Pass = Extract<Permit, { open: true }>;

function setUp() {
  let now = 5_000;
  const rateLimiter = new RateLimiter({ clock: () => now });
  const enter = (call: 'submit' | 'poll' | 'download' = 'submit'): Pass => {
    const entry = rateLimiter.enter(call);
    if (!entry.open) throw new Error(`${call} is shut for ${entry.waitMs} ms`);
    return entry;
  };
  const submit = (outcome: CallOutcome) => enter().release(outcome);
  const pass = (ms: number) => {
    now += ms;
  };
  /** How long a call has to stay away; 0 when it may go. The pass that it got is given back. */
  const waitOf = (call: 'submit' | 'poll' | 'download' = 'submit') => {
    const entry = rateLimiter.enter(call);
    if (!entry.open) return entry.waitMs;
    entry.release(NOTHING_LEARNT);
    return 0;
  };
  /** A rate limiter whose probes were refused until the guess is 4 s. */
  const refuseThrice = () => {
    submit(limited());
    pass(1_000);
    submit(limited());
    pass(2_000);
    submit(limited());
  };
  const rampUpToOpen = () => {
    for (let passed = 0; passed < 5; passed += 1) submit(PASSED);
  };
  return { rateLimiter, enter, submit, pass, waitOf, refuseThrice, rampUpToOpen };
}

describe.each(['poll', 'download'] as const)('the rate limiter for a %s', (call) => {
  it('lets any number through while nothing is known against it', () => {
    const { enter } = setUp();
    for (let calls = 0; calls < 1_000; calls += 1) enter(call);
  });

  it('is shut for as long as Retry-After asks, for every job', () => {
    const { enter, waitOf, pass } = setUp();
    enter(call).release(limited(7_000));
    expect(waitOf(call)).toBe(7_000);
    pass(6_999);
    expect(waitOf(call)).toBe(1);
    pass(1);
    expect(waitOf(call)).toBe(0);
  });

  it('guesses longer waits with each refusal in a row, up to a minute, and starts anew after a success', () => {
    const { enter, waitOf, pass } = setUp();
    const waits = Array.from({ length: 8 }, () => {
      enter(call).release(limited());
      const wait = waitOf(call);
      pass(wait);
      return wait;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    enter(call).release(NOTHING_LEARNT);
    enter(call).release(limited());
    expect(waitOf(call)).toBe(60_000);
    pass(60_000);
    enter(call).release(PASSED);
    enter(call).release(limited());
    expect(waitOf(call)).toBe(1_000);
  });

  it('takes calls that are refused together for one refusal, and the longest Retry-After of them', () => {
    const { enter, waitOf, pass } = setUp();
    const together = Array.from({ length: 5 }, () => enter(call));
    const [slow, ...others] = together;
    for (const each of others) each.release(limited());
    expect(waitOf(call)).toBe(1_000);
    slow?.release(limited(3_000));
    expect(waitOf(call)).toBe(3_000);
    pass(3_000);
    enter(call).release(limited());
    expect(waitOf(call)).toBe(2_000);
  });

  it('does not wait longer than the bound, nor less than a second', () => {
    const { enter, waitOf, pass } = setUp();
    enter(call).release(limited(86_400_000));
    expect(waitOf(call)).toBe(RETRY_AFTER_MAX_MS);
    pass(RETRY_AFTER_MAX_MS);
    enter(call).release(limited(0));
    expect(waitOf(call)).toBe(1_000);
  });

  it('is a rate limiter of its own', () => {
    const { enter, rateLimiter, waitOf } = setUp();
    enter(call).release(limited(7_000));
    expect(waitOf(call === 'poll' ? 'download' : 'poll')).toBe(0);
    expect(waitOf('submit')).toBe(0);
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the rate limiter for submits', () => {
  it('lets any number through while nothing is known against it', () => {
    const { rateLimiter, enter } = setUp();
    for (let calls = 0; calls < 1_000; calls += 1) enter();
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
    expect(rateLimiter.untilNextChange()).toBeUndefined();
  });

  it('is shut by a refusal, and tells for how long', () => {
    const { rateLimiter, submit, waitOf, pass } = setUp();
    submit(limited(7_000));
    expect(rateLimiter.submitAllowance()).toBe(0);
    expect(rateLimiter.untilNextChange()).toBe(7_000);
    expect(waitOf()).toBe(7_000);
    pass(7_000);
    expect(rateLimiter.submitAllowance()).toBe(1);
    expect(rateLimiter.untilNextChange()).toBeUndefined();
  });

  it('does not wait longer than the bound', () => {
    const { submit, waitOf } = setUp();
    submit(limited(86_400_000));
    expect(waitOf()).toBe(RETRY_AFTER_MAX_MS);
  });

  it('guesses longer waits with each probe that is refused, up to a minute', () => {
    const { submit, waitOf, pass } = setUp();
    const waits = Array.from({ length: 8 }, () => {
      submit(limited());
      const wait = waitOf();
      pass(wait);
      return wait;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('waits for the longer of the guess and Retry-After before a probe', () => {
    const { submit, waitOf, refuseThrice, pass } = setUp();
    refuseThrice();
    pass(4_000);
    submit(limited(3_000));
    expect(waitOf()).toBe(8_000);
  });

  it('takes submits that are refused together for one refusal, and the longest Retry-After of them', () => {
    const { rateLimiter, enter, submit, waitOf, pass } = setUp();
    const [slow, ...others] = Array.from({ length: 5 }, () => enter());
    for (const each of others) each.release(limited());
    slow?.release(limited(3_000));
    expect(waitOf()).toBe(3_000);
    pass(3_000);
    submit(limited());
    expect(waitOf()).toBe(2_000);
    expect(rateLimiter.submitAllowance()).toBe(0);
  });

  it('keeps a task that ended since it shut when a submit from before is refused', () => {
    const { rateLimiter, enter, submit, waitOf, pass } = setUp();
    const [first, slow] = [enter(), enter()];
    first.release(limited());
    rateLimiter.taskEnded();
    slow.release(limited(3_000));
    expect(waitOf()).toBe(3_000);
    pass(3_000);
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('lets one in for each task that was seen to end, once Retry-After has passed', () => {
    const { rateLimiter, submit, waitOf, pass, refuseThrice } = setUp();
    refuseThrice();
    rateLimiter.taskEnded();
    rateLimiter.taskEnded();
    submit(PASSED);
    submit(PASSED);
    expect(waitOf()).toBe(4_000);
    pass(4_000);
    submit(limited(6_000));
    rateLimiter.taskEnded();
    expect(waitOf()).toBe(6_000);
    pass(6_000);
    submit(PASSED);
    expect(waitOf()).toBe(8_000);
  });

  it('lets only one in at a time while it is full', () => {
    const { rateLimiter, enter, submit, waitOf } = setUp();
    submit(limited());
    rateLimiter.taskEnded();
    rateLimiter.taskEnded();
    const first = enter();
    expect(waitOf()).toBe(1_000);
    first.release(PASSED);
    expect(waitOf()).toBe(0);
  });

  it('lets nobody in before those that were under way when it shut have left', () => {
    const { rateLimiter, enter, waitOf } = setUp();
    const [first, second] = [enter(), enter()];
    first.release(limited());
    rateLimiter.taskEnded();
    expect(waitOf()).toBe(1_000);
    second.release(PASSED);
    expect(waitOf()).toBe(0);
    expect(rateLimiter.submitAllowance()).toBe(1);
  });

  it('forgets the ended tasks with a refusal, without a longer guess when one of them was the reason to ask', () => {
    const { rateLimiter, submit, waitOf, refuseThrice } = setUp();
    refuseThrice();
    rateLimiter.taskEnded();
    rateLimiter.taskEnded();
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('counts ended tasks only while it is full, and no more than a hundred', () => {
    const { rateLimiter, submit, waitOf } = setUp();
    rateLimiter.taskEnded();
    submit(limited());
    expect(waitOf()).toBe(1_000);
    for (let ended = 0; ended < 150; ended += 1) rateLimiter.taskEnded();
    for (let passed = 0; passed < 100; passed += 1) submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('puts the probe off while ended tasks are replaced, but for no longer than the bound', () => {
    const { rateLimiter, submit, waitOf, pass, refuseThrice } = setUp();
    refuseThrice();
    for (let waited = 0; waited < RETRY_AFTER_MAX_MS - 3_000; waited += 3_000) {
      pass(3_000);
      rateLimiter.taskEnded();
      submit(PASSED);
      expect(waitOf()).toBeGreaterThanOrEqual(3_000);
    }
    pass(2_000);
    rateLimiter.taskEnded();
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
  });

  it('widens step by step after a probe that found room, until it is open', () => {
    const { rateLimiter, submit, pass } = setUp();
    submit(limited());
    pass(1_000);
    const allowances = Array.from({ length: 5 }, () => {
      submit(PASSED);
      return rateLimiter.submitAllowance();
    });
    expect(allowances).toEqual([1, 2, 4, 8, Number.POSITIVE_INFINITY]);
  });

  it('holds as many as the step allows', () => {
    const { enter, submit, waitOf, pass } = setUp();
    submit(limited());
    pass(1_000);
    submit(PASSED);
    submit(PASSED);
    enter();
    enter();
    expect(waitOf()).toBe(1_000);
  });

  it('goes on with the guess where it was when it is refused while it widens', () => {
    const { submit, waitOf, pass, refuseThrice } = setUp();
    refuseThrice();
    pass(4_000);
    submit(PASSED);
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('guesses no less than a second, however often a probe found room', () => {
    const { submit, waitOf, pass } = setUp();
    submit(limited());
    pass(1_000);
    submit(PASSED);
    submit(limited());
    expect(waitOf()).toBe(2_000);
  });

  it('starts with the first guess again after it was open', () => {
    const { submit, waitOf, pass, refuseThrice, rampUpToOpen } = setUp();
    refuseThrice();
    pass(4_000);
    rampUpToOpen();
    pass(60_000);
    submit(limited());
    expect(waitOf()).toBe(1_000);
  });

  it('does not forget how long it had to wait when it was open for a moment only', () => {
    const { submit, waitOf, pass, refuseThrice, rampUpToOpen } = setUp();
    refuseThrice();
    pass(4_000);
    rampUpToOpen();
    submit(limited());
    expect(waitOf()).toBe(4_000);
  });

  it('is shut by a refusal to a submit that began before it was open again', () => {
    const { rateLimiter, enter, submit, pass } = setUp();
    submit(limited());
    pass(1_000);
    submit(PASSED);
    submit(PASSED);
    const slow = enter();
    for (let passed = 0; passed < 3; passed += 1) submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(Number.POSITIVE_INFINITY);
    slow.release(limited());
    expect(rateLimiter.submitAllowance()).toBe(0);
  });

  it('gives back what a submit had that never reached the service', () => {
    const { rateLimiter, submit, waitOf, pass } = setUp();
    submit(limited());
    rateLimiter.taskEnded();
    submit(NOTHING_LEARNT);
    submit(PASSED);
    expect(waitOf()).toBe(1_000);
    pass(1_000);
    submit(NOTHING_LEARNT);
    expect(rateLimiter.submitAllowance()).toBe(1);
    submit(PASSED);
    submit(NOTHING_LEARNT);
    expect(rateLimiter.submitAllowance()).toBe(1);
    submit(PASSED);
    expect(rateLimiter.submitAllowance()).toBe(2);
  });

  it('counts whoever leaves twice once', () => {
    const { rateLimiter, enter, submit, waitOf, pass } = setUp();
    submit(limited());
    pass(1_000);
    const probe = enter();
    probe.release(PASSED);
    probe.release(PASSED);
    probe.release(limited());
    expect(rateLimiter.submitAllowance()).toBe(1);
    enter();
    expect(waitOf()).toBe(1_000);
  });

  it('calls back for what may change the allowance, until told not to', () => {
    const { rateLimiter, enter } = setUp();
    let calls = 0;
    const stop = rateLimiter.onChange(() => {
      calls += 1;
    });
    const pass = enter();
    rateLimiter.taskEnded();
    expect(calls).toBe(0);
    pass.release(limited());
    expect(calls).toBe(1);
    rateLimiter.taskEnded();
    expect(calls).toBe(2);
    stop();
    rateLimiter.taskEnded();
    expect(calls).toBe(2);
  });

  it('reads a clock of its own when it is given none', () => {
    const rateLimiter = new RateLimiter();
    const entry = rateLimiter.enter('submit');
    if (entry.open) entry.release(limited(5_000));
    expect(rateLimiter.untilNextChange()).toBeGreaterThan(4_000);
    expect(rateLimiter.untilNextChange()).toBeLessThanOrEqual(5_000);
  });
});

describe('a hundred jobs of 10 s at a service that does five at a time', () => {
  it('keep the service busy with few refusals when their ends are seen', () => {
    const { busy, refused, ended } = simulate({ submitters: 1, endsSeenAfterMs: 500 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.9);
    expect(refused).toBeLessThan(0.2);
  });

  it('do so when many are submitted at once', () => {
    const { busy, refused, ended } = simulate({ submitters: 10, endsSeenAfterMs: 500 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.9);
    expect(refused).toBeLessThan(0.2);
  });

  it('all end when their ends are seen by nobody here', () => {
    const { busy, refused, ended } = simulate({ submitters: 1 });
    expect(ended).toBe(100);
    expect(busy).toBeGreaterThanOrEqual(0.5);
    expect(refused).toBeLessThan(0.5);
  });
});

interface Setting {
  /** How many POSTs may be under way at once. */
  submitters: number;
  /** Nobody tells the rate limiter when there is none. */
  endsSeenAfterMs?: number;
}

function simulate({ submitters, endsSeenAfterMs }: Setting) {
  const [JOBS, LIMIT, JOB_MS, ONE_WAY_MS, TICK_MS, LONGEST_MS] = [100, 5, 10_000, 100, 50, 3_600_000];
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
    if (endsSeenAfterMs !== undefined) after(endsSeenAfterMs, () => rateLimiter.taskEnded());
  };
  const serve = (): CallOutcome => {
    posts += 1;
    if (running < LIMIT) {
      running += 1;
      after(JOB_MS, end);
      return PASSED;
    }
    refusals += 1;
    return limited();
  };
  const post = ({ release }: Pass) => {
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

  for (; ended < JOBS && now < LONGEST_MS; now += TICK_MS) {
    for (const event of agenda.get(now) ?? []) event();
    while (waiting > 0 && posting < submitters) {
      const entry = rateLimiter.enter('submit');
      if (!entry.open) break;
      post(entry);
    }
  }
  return { ended, busy: (JOBS * JOB_MS) / (LIMIT * now), refused: refusals / posts };
}

describe('the rate limiter where a server skips time', () => {
  /** A server whose clock goes with the machine's, and skips what it is told to. */
  function setUpServer() {
    const { rateLimiter, submit, enter, pass, waitOf } = setUp();
    const server = {};
    let serverMs = 1_000_000;
    return {
      rateLimiter,
      submit,
      enter,
      waitOf,
      pass(ms: number) {
        pass(ms);
        serverMs += ms;
      },
      skip(ms: number) {
        serverMs += ms;
      },
      follow: (answerTakesMs = 0, of: object = server, aheadMs = 0) =>
        rateLimiter.follow(of, async () => {
          pass(answerTakesMs);
          serverMs += answerTakesMs;
          return serverMs + aheadMs;
        }),
    };
  }

  it.each(['submit', 'poll', 'download'] as const)(
    'opens to a %s when the pause was waited for, in part on each clock',
    async (call) => {
      const { enter, waitOf, follow, skip, pass } = setUpServer();
      enter(call).release(limited(60_000));
      await follow();
      pass(10_000);
      await follow();
      expect(waitOf(call)).toBe(50_000);
      skip(30_000);
      await follow();
      expect(waitOf(call)).toBe(20_000);
      skip(20_000);
      await follow();
      expect(waitOf(call)).toBe(0);
    },
  );

  it('is opened neither by a server that does not skip, however far its clock is off, nor by one that goes back', async () => {
    const { submit, waitOf, follow, skip } = setUpServer();
    submit(limited(60_000));
    await follow();
    await follow(0, {}, 86_400_000);
    skip(-3_600_000);
    await follow();
    expect(waitOf()).toBe(60_000);
  });

  it('takes the time of an answer for none that was skipped, and never for a longer pause', async () => {
    const { submit, waitOf, follow, skip } = setUpServer();
    submit(limited(60_000));
    await follow(2_000);
    skip(58_000);
    await follow();
    expect(waitOf()).toBe(0);
  });

  it('has room for every submit that a worker may take, and tells of it', async () => {
    const { rateLimiter, submit, follow } = setUpServer();
    submit(limited(60_000));
    expect([rateLimiter.submitAllowance(), rateLimiter.untilNextChange()]).toEqual([0, 60_000]);
    let told = 0;
    rateLimiter.onChange(() => {
      told += 1;
    });
    await follow();
    expect([rateLimiter.submitAllowance(), rateLimiter.untilNextChange(), told]).toEqual([
      Number.POSITIVE_INFINITY,
      undefined,
      1,
    ]);
  });

  it('goes on by the machine’s clock when the server does not answer', async () => {
    const { rateLimiter, submit, waitOf } = setUpServer();
    submit(limited(60_000));
    const unanswered = rateLimiter.follow({}, () => Promise.reject(new Error('no answer')));
    await expect(unanswered).rejects.toThrow('no answer');
    expect([rateLimiter.submitAllowance(), waitOf()]).toEqual([0, 60_000]);
  });
});
