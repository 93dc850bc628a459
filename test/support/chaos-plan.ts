import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import type { Faults } from '../../src/testing';
import { seededRandom } from '../../src/testing/seeded-random';
import { atLength } from './nightly';

export interface PlannedJob {
  prompt: string;
  startAtMs: number;
  /** The worker's default, `hold`, unless set. */
  onLostSubmit?: LostSubmitPolicy;
}

/** How long a worker runs before it is killed, and how long it stays down. */
export interface WorkerLife {
  lifeMs: number;
  /** If set, the kill comes this long after the next POST of any worker. */
  afterPostMs?: number;
  downMs: number;
}

/** Everything random in a run follows from the seed; only the timing of the machine does not. */
export interface ChaosPlan {
  jobs: PlannedJob[];
  /** For the submits, in their order of arrival. */
  submitFaults: Faults['submit'][];
  /** One list per worker. */
  lives: WorkerLife[][];
}

/** After the POST: a kill then comes before its answer. */
const LONGEST_AFTER_POST_MS = 60;

const JOBS = atLength(18, 200);
const RESUBMITTING_JOBS = atLength(3, 20);
const JOBS_START_WITHIN_MS = atLength(5_000, 25_000);

const LEAST_KILLS = atLength(3, 12);
const MOST_KILLS = atLength(4, 16);

/** These refusals make no task. Retry-After is short because the rate limiter pauses all jobs of a worker. */
const REFUSALS: Faults['submit'][] = [
  { kind: 'rate-limited', retryAfter: 1 },
  { kind: 'server-error' },
  { kind: 'server-error', status: 503 },
];

export function chaosPlan(seed: string): ChaosPlan {
  const random = seededRandom(`chaos ${seed}`);
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const oneOf = <T>(things: readonly T[]) => things[between(0, things.length - 1)] as T;

  const resubmitting = new Set<number>();
  while (resubmitting.size < RESUBMITTING_JOBS) resubmitting.add(between(0, JOBS - 1));
  const jobs = Array.from({ length: JOBS }, (_, index) => ({
    prompt: `Clip ${index} of ${seed}`,
    startAtMs: between(0, JOBS_START_WITHIN_MS),
    ...(resubmitting.has(index) && { onLostSubmit: 'resubmit' as const }),
  }));

  const submitFault = (): Faults['submit'] => {
    const dice = random();
    if (dice < 0.04) return oneOf(REFUSALS);
    // The answer is lost without a kill.
    if (dice < 0.07) return { kind: 'reset-late', ms: between(0, 1_000) };
    // Late enough for a kill before the answer.
    return { kind: 'late', ms: between(100, 1_500) };
  };

  const lives: WorkerLife[][] = [[], []];
  for (let kills = between(LEAST_KILLS, MOST_KILLS); kills > 0; kills--) {
    // Alternates between the workers, so that both are killed throughout the run.
    lives[kills % 2]?.push({
      lifeMs: between(300, 4_500),
      downMs: between(0, 800),
      ...(kills % 3 !== 0 && { afterPostMs: between(0, LONGEST_AFTER_POST_MS) }),
    });
  }
  return {
    jobs,
    submitFaults: Array.from({ length: 2 * JOBS }, submitFault),
    lives,
  };
}
