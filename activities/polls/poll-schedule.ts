/** When some of the tasks end: a log-logistic distribution, because a few take very long. */
export interface ExpectedEnds {
  /** Half of them have ended by then, in milliseconds since the submit. */
  ms: number;
  /** How far apart they end: 95 in a hundred by `ms * 19 ** spread`. */
  spread: number;
  /** How many they are, compared with the others. */
  weight: number;
}

/** How often a task may be polled. */
export interface PollRules {
  /** The shortest and the longest delay, in milliseconds. */
  min: number;
  max: number;
  /** How many polls it may cost to have the video one second sooner. */
  pollsPerSecondSaved: number;
}

/** The moments that are considered for the next polls. More of them find hardly better polls. */
const MOMENTS = 120;
/** They reach this many longest delays ahead: what comes later hardly changes the next poll. */
const REACH = 3;
/** A task that takes longer than almost all is polled less and less often, after this share of the time it took so far. */
const ALMOST_ALL = 0.95;
const PATIENCE = 0.03;

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
 * that finds it costs `pollsPerSecondSaved`: as many of both as are to be expected of a task that has not ended yet.
 *
 * The best polls after a moment do not depend on those before it, so they are found from the last moment to the first.
 */
export function bestDelayMs(waitedMs: number, ends: readonly ExpectedEnds[], rules: PollRules): number {
  const { min, max } = rules;
  const ended = shareEndedBy(waitedMs, ends);
  if (ended > ALMOST_ALL) return Math.round(Math.min(Math.max(waitedMs * PATIENCE, min), max));
  const costPerMs = rules.pollsPerSecondSaved / 1_000;
  const moments = momentsAfter(waitedMs, rules, (ms) => (shareEndedBy(ms, ends) - ended) / (1 - ended));
  for (const [index, moment] of [...moments.entries()].reverse()) {
    // What the best equal delays cost a task that takes half as long again.
    moment.cost = (1 - moment.ended) * Math.sqrt(costPerMs * (waitedMs + moment.fromNowMs));
    for (let later = index + 1; later < moments.length; later++) {
      const next = moments[later];
      const delayMs = next === undefined ? Number.POSITIVE_INFINITY : next.fromNowMs - moment.fromNowMs;
      if (next === undefined || delayMs > max) break;
      if (delayMs < min) continue;
      const lagMs = next.area - moment.area - moment.ended * delayMs;
      const cost = 1 - moment.ended + costPerMs * lagMs + next.cost;
      if (moment.next !== undefined && cost >= moment.cost) continue;
      moment.cost = cost;
      moment.next = next;
    }
  }
  return Math.round(moments[0]?.next?.fromNowMs ?? min);
}

/** Now, and moments at ever longer distances from the shortest delay on. */
function momentsAfter(
  waitedMs: number,
  { min, max }: PollRules,
  chanceToEndBy: (ms: number) => number,
): Moment[] {
  let last: Moment = { fromNowMs: 0, ended: 0, area: 0, cost: 0 };
  const moments = [last];
  const growth = ((REACH * max) / min) ** (1 / MOMENTS);
  for (let fromNowMs = min; moments.length <= MOMENTS; fromNowMs *= growth) {
    const ended = chanceToEndBy(waitedMs + fromNowMs);
    const area = last.area + ((last.ended + ended) / 2) * (fromNowMs - last.fromNowMs);
    last = { fromNowMs, ended, area, cost: 0 };
    moments.push(last);
  }
  return moments;
}

function shareEndedBy(waitedMs: number, ends: readonly ExpectedEnds[]): number {
  let [ended, all] = [0, 0];
  for (const { ms, spread, weight } of ends) {
    ended += weight / (1 + (ms / waitedMs) ** (1 / spread));
    all += weight;
  }
  return ended / all;
}
