import type { CarriedTimes } from '../../src/contract/carried-over';
import type { UsualTimes } from '../../src/contract/usual-times';
import type { ExpectedVideo } from '../../src/contract/video-facts';
import type { Job } from '../job';

/** A batch seldom has as many; the items of further ones are polled like those of a new service. */
const MOST_CARRIED_TIMES = 32;

/** The usual times of running items, once for all that expect such a video: those of hundreds of items would be too large. */
export function carryTimes(jobs: Iterable<Job>): CarriedTimes[] {
  const byKind = new Map<string, CarriedTimes>();
  for (const { expected = {}, usualTimes: times } of jobs) {
    const { resolution, duration } = expected;
    // The last to start has the latest.
    if (times) byKind.set(kindOf(expected), { expected: { resolution, duration }, times });
  }
  return [...byKind.values()].slice(-MOST_CARRIED_TIMES);
}

export function carriedTimesOf(
  carried: readonly CarriedTimes[],
  expected: ExpectedVideo = {},
): UsualTimes | undefined {
  return carried.find((one) => kindOf(one.expected) === kindOf(expected))?.times;
}

function kindOf({ resolution, duration }: ExpectedVideo): string {
  return `${resolution} ${duration}`;
}
