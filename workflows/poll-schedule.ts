import { RETRY_AFTER_MAX_MS } from '../src/contract/policies';
import { type ReportedProgress, SHARES, type UsualTimes } from '../src/contract/usual-times';

/** What a job, its service and the defaults say about polls. */
export interface PollRules {
  /** The shortest and the longest delay, in milliseconds. */
  min: number;
  max: number;
  /** How many polls it may cost to have the video one second sooner. */
  pollsPerSecondSaved: number;
}

/** All that the schedule depends on. Everything is in the history, so a replay computes the same delays. */
export interface PollSituation extends PollRules {
  /** Since the submit, or the adoption. */
  elapsedMs: number;
  remainingMs: number;
  /** How long tasks of this kind usually take. */
  usualTimes: UsualTimes;
  progress?: ReportedProgress;
  retryAfterMs?: number;
  /** Polls in a row that failed. */
  failedPolls: number;
}

export const DEFAULT_MIN_MS = 3_000;
export const DEFAULT_MAX_MS = 120_000;
export const DEFAULT_POLLS_PER_SECOND_SAVED = 4;
/** No job polls more often than this. */
export const LEAST_MIN_MS = 1_000;

/** The time until almost every task has ended is divided into this many steps. More steps find hardly better polls. */
const STEPS = 180;
/** A task that takes longer than almost all is polled less and less often, after this share of the time it took so far. */
const PATIENCE = 0.05;
/** How far off an estimate may be: at 100 %, and at the beginning. */
const LEAST_SPREAD = 0.03;
const MOST_SPREAD = 0.3;
/** Below this, a percentage says too little about the time left. */
const USEFUL_PERCENT = 10;

/** The delay before the next poll. The last poll is at the deadline. */
export function nextPollDelayMs(situation: PollSituation): number {
  const { remainingMs, retryAfterMs = 0, failedPolls, min, max } = situation;
  const wantedMs = failedPolls > 0 ? min * 2 ** Math.min(failedPolls, 16) : bestDelayMs(situation);
  const delayMs = Math.max(clamp(wantedMs, min, max), Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
  return Math.max(0, Math.min(delayMs, remainingMs));
}

/** A moment at which the task may be polled. */
interface Moment {
  fromNowMs: number;
  /** The chance that the task has ended by then. */
  ended: number;
  /** The area below these chances since now. How long ended tasks wait for their poll follows from it. */
  area: number;
  /** What all later polls cost, if they are the best ones; and the first of them. */
  cost: number;
  next?: Moment;
}

/**
 * The first of the polls that cost least together. A poll costs 1, and each second after the end of the task until the poll
 * that finds it costs `pollsPerSecondSaved`: as many of both as are to be expected of a task with the usual times.
 *
 * The best polls after a moment do not depend on those before it, so they are found from the last moment to the first.
 */
function bestDelayMs(situation: PollSituation): number {
  const { elapsedMs, usualTimes, pollsPerSecondSaved, min, max } = situation;
  const costPerMs = pollsPerSecondSaved / 1_000;
  const lateMs = lateByMs(usualTimes);
  // The best pause for a task that may end at any time.
  const steadyMs = clamp(Math.sqrt((2 * lateMs) / costPerMs), min, max);
  const moments = momentsBefore(timeOf(usualTimes, SHARES - 1) + steadyMs, situation);
  const [now, first] = moments;
  if (now === undefined || first === undefined) return Math.max(steadyMs, elapsedMs * PATIENCE);

  const shortest = Math.max(1, Math.ceil(min / first.fromNowMs));
  const longest = Math.max(shortest, Math.floor(max / first.fromNowMs));
  for (const [index, moment] of [...moments.entries()].reverse()) {
    const unfinished = 1 - moment.ended;
    for (const next of moments.slice(index + shortest, index + longest + 1)) {
      const lagMs = next.area - moment.area - moment.ended * (next.fromNowMs - moment.fromNowMs);
      const cost = unfinished + costPerMs * lagMs + next.cost;
      if (moment.next !== undefined && cost >= moment.cost) continue;
      moment.cost = cost;
      moment.next = next;
    }
    moment.cost = moment.next ? moment.cost : unfinished * (lateMs / steadyMs + (costPerMs * steadyMs) / 2);
  }
  return Math.round(now.next?.fromNowMs ?? min);
}

/** Moments at equal distances from now until almost every task has ended; none if that time has passed. */
function momentsBefore(usualEndMs: number, { elapsedMs, usualTimes, progress }: PollSituation): Moment[] {
  const estimate = estimateOf(progress, elapsedMs);
  const endMs = estimate ? estimate.ms * Math.exp(3 * estimate.spread) : usualEndMs;
  if (endMs <= elapsedMs) return [];
  const stepMs = (endMs - elapsedMs) / STEPS;
  const times = Array.from({ length: STEPS + 1 }, (_, step) => elapsedMs + step * stepMs);
  // They know nothing about a task that takes longer than all of them.
  const usual = elapsedMs < usualEndMs ? chancesBetween(times, usualTimes) : [];
  const chances = estimate ? sharpen(usual, likelihoods(times.slice(1), estimate)) : usual;
  const moments: Moment[] = [{ fromNowMs: 0, ended: 0, area: 0, cost: 0 }];
  let ended = 0;
  let area = 0;
  for (const [step, chance] of chances.entries()) {
    area += (ended + chance / 2) * stepMs;
    ended += chance;
    moments.push({ fromNowMs: (step + 1) * stepMs, ended, area, cost: 0 });
  }
  return moments;
}

/** The chance that a task ends between each time and the next, if it has not ended by the first time. */
function chancesBetween(times: readonly number[], usualTimes: UsualTimes): number[] {
  const ended = times.map((ms) => chanceToEndBy(ms, usualTimes));
  const unfinished = 1 - (ended[0] ?? 0);
  return ended.slice(1).map((chance, index) => (chance - (ended[index] ?? 0)) / unfinished);
}

/** Tasks end evenly within each share, and ever fewer after the last usual time. */
function chanceToEndBy(ms: number, usualTimes: UsualTimes): number {
  const share = usualTimes.findLastIndex((time) => time <= ms);
  if (share < 0) return 0;
  const sinceMs = ms - timeOf(usualTimes, share);
  if (share === SHARES - 1) return 1 - Math.exp(-sinceMs / Math.max(lateByMs(usualTimes), 1)) / SHARES;
  return (share + sinceMs / (timeOf(usualTimes, share + 1) - timeOf(usualTimes, share))) / SHARES;
}

/** How much longer than the last usual time a task takes, if it does: about as long as the shares before it last. */
function lateByMs(usualTimes: UsualTimes): number {
  return timeOf(usualTimes, SHARES - 1) - timeOf(usualTimes, SHARES - 4);
}

function timeOf(usualTimes: UsualTimes, share: number): number {
  return usualTimes[share] ?? 0;
}

/** When the task ends according to its progress, and how far off that may be, as a share of it. */
interface Estimate {
  ms: number;
  spread: number;
}

/** A percentage that has not risen until its estimate was over, such as a lasting 100 %, says nothing. */
function estimateOf(progress: ReportedProgress | undefined, elapsedMs: number): Estimate | undefined {
  const { percent, atMs } = progress ?? { percent: 0, atMs: 0 };
  const ms = (atMs * 100) / percent;
  if (!(percent >= USEFUL_PERCENT && ms > elapsedMs)) return undefined;
  return { ms, spread: LEAST_SPREAD + (MOST_SPREAD - LEAST_SPREAD) * (1 - percent / 100) };
}

/** How well an end at each time fits the estimate. */
function likelihoods(times: readonly number[], { ms, spread }: Estimate): number[] {
  return times.map((time) => Math.exp(-((Math.log(time / ms) / spread) ** 2) / 2));
}

/** Half is what the usual times say about tasks with this estimate; half is the estimate alone, which may be new to them. */
function sharpen(usual: readonly number[], likely: readonly number[]): number[] {
  const both = normalize(usual.map((chance, index) => chance * (likely[index] ?? 0)));
  return normalize(likely).map((chance, index) => (chance + (both[index] ?? chance)) / 2);
}

/** The chances with a sum of 1; none if all of them are 0. */
function normalize(chances: readonly number[]): number[] {
  const sum = chances.reduce((total, chance) => total + chance, 0);
  return sum > 0 ? chances.map((chance) => chance / sum) : [];
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
