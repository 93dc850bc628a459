import { RETRY_AFTER_MAX_MS } from '../src/contract/policies';

/** Everything the schedule knows, and all of it is in the history: the same job always waits the same. */
export interface PollSituation {
  /** Since the submit, or the adoption. */
  elapsedMs: number;
  remainingMs: number;
  /** As the service told it at the last look. */
  percent?: number;
  retryAfterMs?: number;
  /** Looks in a row that brought no answer. */
  problems: number;
  min: number;
  max: number;
}

/** Most services ask for at least this between two looks. */
export const DEFAULT_MIN_MS = 5_000;
export const DEFAULT_MAX_MS = 30_000;
/** Nobody is asked more often than this, whatever the job says. */
export const LEAST_MIN_MS = 1_000;

/** A look may come this much later than the video, as a share of the time waited so far. */
const LATENESS = 0.1;

/** A percentage below this says too little about the time that is left. */
const TELLING_PERCENT = 10;

/** How long to wait until the next look. The last look of all is at the deadline. */
export function nextPollDelayMs(situation: PollSituation): number {
  const { remainingMs, retryAfterMs = 0, min, max } = situation;
  const wanted = Math.max(clamp(guess(situation), min, max), Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
  return Math.max(0, Math.min(wanted, remainingMs));
}

function guess({ elapsedMs, percent, problems, min }: PollSituation): number {
  if (problems > 0) return min * 2 ** Math.min(problems, 16);
  if (percent !== undefined && percent >= TELLING_PERCENT && percent < 100) {
    return (elapsedMs * (100 - percent)) / percent;
  }
  return elapsedMs * LATENESS;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
