/**
 * How long tasks of one kind usually take, in whole milliseconds: of 21 equal shares of the tasks, the time at which each
 * share begins. One task in 21 takes longer than the last of them. The first leaves out the very shortest tasks, so that a
 * single one does not make all jobs poll too early.
 */
export type UsualTimes = readonly number[];

/** How many shares there are. */
export const SHARES = 21;
const LEFT_OUT = 0.04;

/** Which part of all tasks have ended when a share begins. */
export function shareBegins(share: number): number {
  return share === 0 ? LEFT_OUT : share / SHARES;
}

/** How many standard deviations from the median each share begins. */
const DEVIATIONS = [
  -1.751, -1.668, -1.309, -1.068, -0.876, -0.712, -0.566, -0.431, -0.303, -0.18, -0.06, 0.06, 0.18, 0.303,
  0.431, 0.566, 0.712, 0.876, 1.068, 1.309, 1.668,
];
/** Where 95 in a hundred are below. */
const SLOW_DEVIATION = 1.645;

/** What is expected of tasks before any has ended, in milliseconds. */
export interface ExpectedTimes {
  /** Half of the tasks are ready by then. */
  median: number;
  /** 95 in a hundred are. */
  slow: number;
}

/** A longer time is a mistake. */
const LONGEST_MS = 365 * 24 * 3_600_000;

/** Of a service that nothing is known about. Measured generations took 83 to 253 s; some services are far quicker. */
const UNKNOWN_SERVICE: ExpectedTimes = { median: 90_000, slow: 300_000 };

/** Expected times as usual times. Times of tasks are spread like a log-normal distribution: a few take very long. */
export function usualTimesOf(expected?: ExpectedTimes): UsualTimes {
  const { median, slow } = isExpectedTimes(expected) ? expected : UNKNOWN_SERVICE;
  const spread = Math.log(slow / median) / SLOW_DEVIATION;
  return DEVIATIONS.map((deviation) => Math.round(median * Math.exp(spread * deviation)));
}

/** They come from a worker of any version. */
function isExpectedTimes(value: ExpectedTimes | undefined): value is ExpectedTimes {
  const { median = 0, slow = 0 } = value ?? {};
  return median > 0 && slow >= median && slow <= LONGEST_MS;
}

/** Whether these are times that a schedule can be made from. */
export function isUsualTimes(value: unknown): value is UsualTimes {
  if (!Array.isArray(value) || value.length !== SHARES) return false;
  return value.every(
    (time, share) => Number.isSafeInteger(time) && time >= (share === 0 ? 0 : value[share - 1]),
  );
}

/** The highest percentage that the service has reported of a task. */
export interface ReportedProgress {
  percent: number;
  /** When it was first reported, in milliseconds since the submit. */
  atMs: number;
}

/** A task that ended, in milliseconds since its submit: after the last poll that found it unfinished, by the next. */
export interface EndedTask {
  kind: string;
  afterMs: number;
  byMs: number;
}
