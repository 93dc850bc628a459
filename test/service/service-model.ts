import { type CallOutcome, RateLimiter } from '../../src/service';
import { seededRandom } from '../../src/testing/seeded-random';

/** A service that limits submits, by a simulated clock. */
export interface LimitedService {
  /** Whether a submit is accepted now. */
  accept(nowMs: number): boolean;
  taskEnded(): void;
  /** How many submits it accepts in a time, or how many tasks it runs at once. */
  capacity: { inMs: (ms: number) => number } | { places: number };
}

export const tokenBucket = (perSecond: number, burst: number): LimitedService => {
  let [tokens, filledAt] = [burst, 0];
  return {
    accept(nowMs) {
      tokens = Math.min(burst, tokens + ((nowMs - filledAt) * perSecond) / 1_000);
      filledAt = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    taskEnded: () => undefined,
    capacity: { inMs: (ms) => burst + (perSecond * ms) / 1_000 },
  };
};

export const concurrentTasks = (places: number): LimitedService => {
  let running = 0;
  return {
    accept() {
      if (running >= places) return false;
      running += 1;
      return true;
    },
    taskEnded() {
      running -= 1;
    },
    capacity: { places },
  };
};

type Range = readonly [least: number, most: number];

export interface Simulation {
  seed: number;
  taskMs: number;
  /** How long after its end a poll finds a task ended. */
  pollDelayMs?: Range;
  /** From taking a submit to asking for its permit; longer on a busy machine. */
  pickUpMs?: Range;
}

const LENGTH_MS = 600_000;

const ONE_WAY_MS: Range = [5, 40];
const MOST_AT_ONCE = 8;

/** One worker with more jobs than the service takes: which share of the limit it uses, and how many submits are refused. */
export function simulate(service: LimitedService, setting: Simulation) {
  const { seed, taskMs, pollDelayMs = [200, 2_500], pickUpMs = [5, 60] } = setting;
  const random = seededRandom(String(seed));
  const within = ([least, most]: Range) => least + random() * (most - least);
  const agenda: { atMs: number; event: () => void }[] = [];
  let now = 0;
  const after = (ms: number, event: () => void) => {
    const atMs = now + ms;
    const next = agenda.findIndex((other) => other.atMs > atMs);
    agenda.splice(next === -1 ? agenda.length : next, 0, { atMs, event });
  };
  const limiter = new RateLimiter({ clock: () => now });
  let [reserved, posts, refused, busyMs, lastTimer] = [0, 0, 0, 0, 0];

  // As a worker does: it takes a submit from Temporal when the limiter allows one, and asks for a permit a moment later.
  const takeSubmits = () => {
    const waitMs = limiter.untilNextChangeMs();
    for (; reserved < Math.min(MOST_AT_ONCE, limiter.submitAllowance()); reserved += 1)
      after(within(pickUpMs), submit);
    lastTimer += 1;
    const timer = lastTimer;
    if (waitMs !== undefined) after(waitMs, () => timer === lastTimer && takeSubmits());
  };
  const finish = () => {
    reserved -= 1;
    takeSubmits();
  };
  const submit = () => {
    const permit = limiter.acquire('submit');
    if (!permit.granted) {
      after(5, finish);
      return;
    }
    after(within(ONE_WAY_MS), () => {
      const outcome = post();
      after(within(ONE_WAY_MS), () => {
        permit.release(outcome);
        finish();
      });
    });
  };
  const post = (): CallOutcome => {
    const isAccepted = service.accept(now);
    posts += 1;
    if (!isAccepted) {
      refused += 1;
      return { kind: 'limited' };
    }
    busyMs += Math.min(taskMs, LENGTH_MS - now);
    after(taskMs, () => service.taskEnded());
    after(taskMs + within(pollDelayMs), () => limiter.recordTaskEnd());
    return { kind: 'passed' };
  };

  limiter.onChange(takeSubmits);
  takeSubmits();
  for (let next = agenda.shift(); next && next.atMs <= LENGTH_MS; next = agenda.shift()) {
    now = next.atMs;
    next.event();
  }
  const { capacity } = service;
  const used =
    'places' in capacity
      ? busyMs / (capacity.places * LENGTH_MS)
      : (posts - refused) / capacity.inMs(LENGTH_MS);
  return { used, refused: refused / posts };
}
