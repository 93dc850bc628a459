import { RETRY_AFTER_MAX_MS } from '../../src/contract/policies';
import type { CallOutcome } from '../../src/service/permit';
import { SubmitLimit } from '../../src/service/submit-limit';

const PASSED: CallOutcome = { kind: 'passed' };
const limited = (retryAfterMs?: number): CallOutcome => ({ kind: 'limited', retryAfterMs });

function setUp() {
  // No round number, as the clock of a process that runs for a while.
  let now = 1_000_300;
  const limit = new SubmitLimit(
    () => now,
    () => undefined,
  );
  const acquire = () => {
    const permit = limit.acquire();
    if (!permit.granted) throw new Error(`no permit for ${permit.waitMs} ms`);
    return permit;
  };
  return {
    limit,
    acquire,
    advance: (ms: number) => {
      now += ms;
    },
    /** One after the other, each released at once. */
    submit: (...outcomes: CallOutcome[]) => {
      for (const outcome of outcomes) acquire().release(outcome);
    },
    /** A submit for a slot that an ended task has freed. */
    replace: (outcome: CallOutcome) => {
      limit.recordTaskEnd();
      acquire().release(outcome);
    },
    waitMs: () => limit.untilNextChangeMs() ?? 0,
  };
}

describe('a new process', () => {
  it('may take one more submit for each second since its first', () => {
    const { limit, acquire, advance } = setUp();
    acquire();
    advance(1_000);
    acquire();
    advance(1_000);
    expect(limit.workerAllowance()).toBe(3);
  });

  it('counts from its first even if that has passed', () => {
    const { limit, acquire, advance, submit } = setUp();
    submit(PASSED);
    acquire();
    advance(1_000);
    acquire();
    advance(1_000);
    expect(limit.workerAllowance()).toBe(3);
  });

  it('knows when the next second is over', () => {
    const { limit, acquire, advance } = setUp();
    acquire();
    advance(400);
    expect(limit.untilWorkerChangeMs()).toBe(600);
  });
});

describe('the pace of a service that limits submits in a time is learned', () => {
  it.each([
    ['between a probe and the next refusal', 1_000, 0, 500],
    ['also when the probe came two seconds late', 3_000, 0, 1_500],
    ['but not when it came later', 3_001, 0, 4_000],
    ['also when two seconds were without a submit', 1_000, 2_000, 1_500],
    ['but not when it were more', 1_000, 2_001, 4_000],
  ])('%s', (_when, beforeMs, betweenMs, waitMs) => {
    const limiter = setUp();
    limiter.submit(limited());
    limiter.advance(beforeMs);
    limiter.submit(PASSED);
    limiter.advance(betweenMs);
    limiter.submit(PASSED, limited());
    expect(limiter.waitMs()).toBe(waitMs);
  });

  it('also over the time of a long Retry-After', () => {
    const { submit, advance, waitMs } = setUp();
    submit(limited(7_000));
    advance(7_000);
    submit(PASSED, PASSED, limited());
    expect(waitMs()).toBe(3_500);
  });

  it.each([
    ['up to one submit in a minute', 60_000, 60_000],
    ['and not for fewer, where it probes', 100_000, 4_000],
  ])('%s', (_what, intervalMs, expected) => {
    const { submit, advance, waitMs } = setUp();
    submit(limited(intervalMs));
    advance(intervalMs);
    submit(PASSED, limited());
    expect(waitMs()).toBe(expected);
  });

  it('with a submit that passed after another was refused', () => {
    const { acquire, submit, advance, waitMs } = setUp();
    const [first, slow] = [acquire(), acquire()];
    first.release(limited());
    slow.release(PASSED);
    advance(1_000);
    submit(limited());
    expect(waitMs()).toBe(1_000);
  });

  it('and kept until nothing was refused for longer than the bound', () => {
    const paced = () => {
      const limiter = setUp();
      limiter.submit(limited());
      limiter.advance(1_000);
      limiter.submit(PASSED, PASSED, limited());
      return limiter;
    };
    const [soon, atBound, later] = [paced(), paced(), paced()];
    soon.advance(500);
    soon.submit(PASSED);
    expect(soon.waitMs()).toBeGreaterThan(0);
    atBound.advance(RETRY_AFTER_MAX_MS);
    atBound.submit(PASSED, PASSED);
    expect(atBound.waitMs()).toBeGreaterThan(0);
    later.advance(RETRY_AFTER_MAX_MS + 1);
    later.submit(PASSED, PASSED);
    expect(later.waitMs()).toBe(0);
  });
});

describe('a service where ended tasks make room', () => {
  it('has no pace, although submits passed between two refusals', () => {
    const { submit, replace, advance, waitMs } = setUp();
    submit(limited());
    replace(PASSED);
    advance(1_000);
    submit(limited());
    expect(waitMs()).toBe(4_000);
  });

  it('is still known as such after a refused probe', () => {
    const { submit, replace, advance, waitMs } = setUp();
    submit(limited());
    replace(PASSED);
    advance(1_000);
    submit(limited());
    advance(4_000);
    submit(PASSED, limited());
    expect(waitMs()).toBe(4_000);
  });

  it('is none any more when a submit for a free slot is refused', () => {
    const { submit, replace, advance, waitMs } = setUp();
    submit(limited());
    replace(PASSED);
    advance(500);
    replace(limited());
    expect(waitMs()).toBe(500);
  });
});

it('after a minute without a limit the refused probes of before do not count', () => {
  const { submit, advance, waitMs } = setUp();
  submit(limited());
  advance(1_000);
  submit(limited());
  advance(4_000);
  submit(limited());
  advance(16_000);
  submit(PASSED, PASSED, PASSED, PASSED, PASSED);
  advance(60_000);
  submit(limited());
  expect(waitMs()).toBe(1_000);
});
