import { RETRY_AFTER_MAX_MS } from '../src/contract/policies';

/** All that the schedule depends on. Everything is in the history, so a replay computes the same delays. */
export interface PollSituation {
  /** Since the submit, or the adoption. */
  elapsedMs: number;
  remainingMs: number;
  /** As the service reported it in the last poll. */
  percent?: number;
  retryAfterMs?: number;
  /** Polls in a row that failed. */
  failedPolls: number;
  min: number;
  max: number;
}

/** Most services ask for at least this between two polls. */
export const DEFAULT_MIN_MS = 5_000;
export const DEFAULT_MAX_MS = 30_000;
/** No job polls more often than this. */
export const LEAST_MIN_MS = 1_000;

/** How late a poll may find the video, as a share of the time waited so far. */
const LATENESS = 0.1;

/** Below this, a percentage says too little about the time left. */
const USEFUL_PERCENT = 10;

/** The delay before the next poll. The last poll is at the deadline. */
export function nextPollDelayMs(situation: PollSituation): number {
  const { remainingMs, retryAfterMs = 0, min, max } = situation;
  const delayMs = Math.max(
    clamp(estimateMs(situation), min, max),
    Math.min(retryAfterMs, RETRY_AFTER_MAX_MS),
  );
  return Math.max(0, Math.min(delayMs, remainingMs));
}

function estimateMs({ elapsedMs, percent, failedPolls, min }: PollSituation): number {
  if (failedPolls > 0) return min * 2 ** Math.min(failedPolls, 16);
  if (percent !== undefined && percent >= USEFUL_PERCENT && percent < 100) {
    return (elapsedMs * (100 - percent)) / percent;
  }
  return elapsedMs * LATENESS;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
