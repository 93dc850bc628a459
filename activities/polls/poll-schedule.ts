/** When some of the tasks end: a log-logistic distribution, because a few take very long. */
export interface ExpectedEnds {
  /** Half of them have ended by then, in milliseconds since the submit. */
  ms: number;
  /** How far apart they end: 95 in a hundred by `ms * 19 ** spread`. */
  spread: number;
  /** How many they are, compared with the others. */
  weight: number;
}

/** How many polls it may cost to have a video one second sooner. */
export const POLLS_PER_SECOND_SAVED = 3.5;
const WORTH_A_POLL_MS = 1_000 / POLLS_PER_SECOND_SAVED;

/** A task that takes longer than almost all is polled less and less often: after this share of the time it took so far. */
const ALMOST_ALL = 0.95;
const PATIENCE = 0.03;
/** How much later each moment is that is considered for the next poll: close ones only around the right one, to save time. */
const WIDE_STEP = 1.15;
const STEP = 1.02;

/**
 * How long to wait for the next poll, between the shortest and the longest delay: until the task, if it has ended meanwhile,
 * is expected to have waited for as long as a poll is worth. For measured times that costs 1 % more than the best polls.
 */
export function pollDelayMs(
  waitedMs: number,
  ends: readonly ExpectedEnds[],
  { min, max }: { min: number; max: number },
): number {
  const before = shareEndedBy(waitedMs, ends);
  const patienceMs = before > ALMOST_ALL ? waitedMs * PATIENCE : 0;
  let [atMs, ended, lagMs, step] = [0, 0, 0, WIDE_STEP];
  for (let nextMs = Math.max(min, patienceMs); ; nextMs = atMs * step) {
    const endedNext = (shareEndedBy(waitedMs + nextMs, ends) - before) / (1 - before);
    const lagNextMs = lagMs + ((ended + endedNext) / 2) * (nextMs - atMs);
    // All tasks have ended by now, as far as anybody can tell, when it is not a number.
    const isLate = !(lagNextMs < WORTH_A_POLL_MS && nextMs < max);
    if (!isLate) [atMs, ended, lagMs] = [nextMs, endedNext, lagNextMs];
    else if (step === STEP || atMs === 0) return Math.round(Math.min(nextMs, max));
    else step = STEP;
  }
}

/** What is expected of any task counts as this part of one task, and as ever less the more have ended. */
const EXPECTED_WEIGHT = 0.05;
/** How far apart tasks end, in logarithms of their times, as long as few have ended: as much as one such task says. */
const EXPECTED_DEVIATION = 0.5;
/** How much closer than all tasks those are that one task stands for, and by how much more the more tasks have ended. */
const SMOOTHING = 0.4;
const SHARPENING = 0.2;

/** Each task that has ended stands for some that end around its time: the closer to it, the more tasks have ended. */
export function expectedEnds(
  endedMs: readonly number[],
  expected: readonly ExpectedEnds[],
): readonly ExpectedEnds[] {
  const count = endedMs.length;
  const times = endedMs.map((ms) => Math.max(ms, 1));
  const mean = sum(times.map(Math.log)) / count;
  const squares = sum(times.map((ms) => (Math.log(ms) - mean) ** 2)) + EXPECTED_DEVIATION ** 2;
  const spread = SMOOTHING * Math.sqrt(squares / (count + 1)) * count ** -SHARPENING;
  return [
    ...expected.map((ends) => ({ ...ends, weight: (ends.weight * EXPECTED_WEIGHT) / (count + 1) })),
    ...times.map((ms) => ({ ms, spread, weight: 1 })),
  ];
}

/** What a percentage says counts this many times as much as all tasks that ended before. */
const PROGRESS_WEIGHT = 20;
/** How far off it may be: at 100 %, and at the beginning. */
const SPREAD_AT_END = 0.017;
const SPREAD_AT_START = 0.14;
/** Below this, a percentage says too little about the time left. */
const USEFUL_PERCENT = 10;

/** Adds what the progress of a task says. A percentage that has not risen until its estimate was over says nothing. */
export function withProgress(
  ends: readonly ExpectedEnds[],
  { percent, atMs }: { percent: number; atMs: number },
  waitedMs: number,
): readonly ExpectedEnds[] {
  const ms = (atMs * 100) / percent;
  if (!(percent >= USEFUL_PERCENT && ms > waitedMs)) return ends;
  const spread = SPREAD_AT_END + (SPREAD_AT_START - SPREAD_AT_END) * (1 - percent / 100);
  return [...ends, { ms, spread, weight: PROGRESS_WEIGHT * sum(ends.map(({ weight }) => weight)) }];
}

function shareEndedBy(waitedMs: number, ends: readonly ExpectedEnds[]): number {
  let [ended, all] = [0, 0];
  for (const { ms, spread, weight } of ends) {
    ended += weight / (1 + (ms / waitedMs) ** (1 / spread));
    all += weight;
  }
  return ended / all;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
