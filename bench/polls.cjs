/**
 * Compares schedules of polls on the job times that we measured, 75 s + lognormal(30 s, 0.9): `npm run bench -- --only a`, some
 * seconds. Nothing waits: it simulates jobs with the shipped schedule and the shipped learner, which sees what a worker sees,
 * namely the last poll before each end and the first after it. Then it polls single tasks of which nothing is known. The seeds
 * are fixed, so every run prints the same.
 * `--json FILE` writes the rows there too.
 */
const { writeFileSync } = require('node:fs');
const {
  DEFAULT_MAX_MS,
  DEFAULT_MIN_MS,
  LearnedTimes,
  PollPlan,
} = require('../dist/activities/polls/poll-plan');
const { POLLS_PER_SECOND_SAVED } = require('../dist/activities/polls/poll-schedule');

const SECOND = 1_000;
const JOBS = 20_000;
/** The learner is simulated this often, each time with other jobs. */
const REPETITIONS = 12;
const JOBS_OF_REPETITION = 2_000;
/** From the quickest services to one that is stuck. */
const UNKNOWN_SECONDS = [1, 3, 10, 30, 120, 600, 3_600];
const REQUEST = { prompt: 'A red fox in the snow', resolution: '720p', duration: 5 };

/** Numbers from 0 to 1, the same for the same seed. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const normal = (next) => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
const jobTimeMs = (next) => (75 + 30 * Math.exp(0.9 * normal(next))) * SECOND;

/** The chance that a job has ended by then. */
function chanceBy(ms) {
  const seconds = ms / SECOND - 75;
  return seconds <= 0 ? 0 : normalChance(Math.log(seconds / 30) / 0.9);
}

/** Abramowitz and Stegun, 26.2.17. */
function normalChance(x) {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return x > 0 ? 1 - tail : tail;
}

/** Polls one job. `delayMs` gets the time waited so far and the number of polls so far. */
function follow(endMs, delayMs) {
  let [elapsedMs, beforeMs, polls] = [0, 0, 0];
  while (elapsedMs < endMs) {
    beforeMs = elapsedMs;
    elapsedMs += delayMs(elapsedMs, polls++);
  }
  return { polls, lagMs: elapsedMs - endMs, afterMs: beforeMs, byMs: elapsedMs };
}

function average(delayMs, jobs, seed) {
  const next = random(seed);
  let [polls, lagMs] = [0, 0];
  for (let job = 0; job < jobs; job++) {
    const one = follow(jobTimeMs(next), delayMs);
    polls += one.polls;
    lagMs += one.lagMs;
  }
  return { polls: polls / jobs, lagSeconds: lagMs / jobs / SECOND };
}

/** The shipped plan. Without progress all jobs with the same learned times are polled at the same times. */
function ours(plan) {
  const delays = [];
  return (waitedMs, poll) => {
    delays[poll] ??= plan.nextPollMs({ kind: plan.kindOf(REQUEST), waitedMs });
    return delays[poll];
  };
}

function newPlan() {
  const service = { address: 'https://api.example.com/' };
  return new PollPlan({ service }, new LearnedTimes());
}

/** A worker that starts with nothing and learns from the jobs that it polls. Returns the average after so many of them. */
function learned(counts) {
  const sums = new Map(counts.map((count) => [count, { polls: 0, lagSeconds: 0 }]));
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const next = random(1_000 + repetition);
    const plan = newPlan();
    for (let job = 1; job <= Math.max(...counts); job++) {
      const { afterMs, byMs } = follow(jobTimeMs(next), ours(plan));
      plan.learned.learn({ kind: plan.kindOf(REQUEST), afterMs, byMs });
      const sum = sums.get(job);
      if (sum === undefined) continue;
      const { polls, lagSeconds } = average(ours(plan), JOBS_OF_REPETITION, 2_000 + repetition);
      sum.polls += polls / REPETITIONS;
      sum.lagSeconds += lagSeconds / REPETITIONS;
    }
  }
  return [...sums.values()];
}

/** Single tasks of which nothing is known: how many polls they need, and when they are found. */
function measureUnknown() {
  return UNKNOWN_SECONDS.map((seconds) => {
    const { polls, byMs } = follow(seconds * SECOND, ours(newPlan()));
    return { seconds, polls, foundAfterSeconds: byMs / SECOND };
  });
}

/** The best polls of someone who knows the distribution itself, at the same bounds and the same price. */
function optimum() {
  const stepMs = SECOND / 4;
  const steps = 900 * 4;
  const costPerMs = POLLS_PER_SECOND_SAVED / SECOND;
  const ended = Float64Array.from({ length: steps + 1 }, (_, step) => chanceBy(step * stepMs));
  const area = new Float64Array(steps + 1);
  for (let step = 1; step <= steps; step++)
    area[step] = area[step - 1] + (stepMs * (ended[step - 1] + ended[step])) / 2;
  const cost = new Float64Array(steps + 1);
  const best = new Int32Array(steps + 1);
  for (let from = steps - 1; from >= 0; from--) {
    cost[from] = Number.POSITIVE_INFINITY;
    const last = Math.min(from + DEFAULT_MAX_MS / stepMs, steps);
    for (let to = Math.min(from + DEFAULT_MIN_MS / stepMs, steps); to <= last; to++) {
      const lagMs = area[to] - area[from] - ended[from] * (to - from) * stepMs;
      const total = 1 - ended[from] + costPerMs * lagMs + cost[to];
      if (total >= cost[from]) continue;
      cost[from] = total;
      best[from] = to;
    }
  }
  return (elapsedMs) => {
    const step = Math.round(elapsedMs / stepMs);
    return step < steps ? (best[step] - step) * stepMs : 30 * SECOND;
  };
}

/** Every row: its name, polls a job, seconds that a finished video waits, and what both cost. */
function measurePolls() {
  const jitter = random(7);
  const [after3, after10, after50, after200] = learned([3, 10, 50, 200]);
  const rows = [
    ['ours, nothing learned', average(ours(newPlan()), JOBS, 1)],
    ['ours, after 3 jobs', after3],
    ['ours, after 10 jobs', after10],
    ['ours, after 50 jobs', after50],
    ['ours, after 200 jobs', after200],
    ['the optimum, which knows the distribution', average(optimum(), JOBS, 1)],
    ['fixed 5 s', average(() => 5 * SECOND, JOBS, 1)],
    ['6 s ± 1.5 s (Runway)', average(() => (4.5 + 3 * jitter()) * SECOND, JOBS, 1)],
    ['0.5 s (fal, Replicate)', average(() => 0.5 * SECOND, JOBS, 1)],
    ['5 s × 1.5 up to 30 s', average((_, poll) => Math.min(5 * 1.5 ** poll, 30) * SECOND, JOBS, 1)],
  ].map(([name, { polls, lagSeconds }]) => ({
    name,
    polls,
    lagSeconds,
    cost: polls + POLLS_PER_SECOND_SAVED * lagSeconds,
  }));
  const { cost: least } = rows.find(({ name }) => name.startsWith('the optimum'));
  return rows.map((row) => ({ ...row, costToOptimum: row.cost / least }));
}

function print(rows) {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const line = (...cells) =>
    process.stdout.write(
      `${cells.map((cell, at) => (at ? cell.padStart(12) : cell.padEnd(width))).join('')}\n`,
    );
  line('schedule', 'polls', 'lag (s)', 'cost', 'to optimum');
  for (const { name, polls, lagSeconds, cost, costToOptimum } of rows)
    line(name, polls.toFixed(2), lagSeconds.toFixed(2), cost.toFixed(2), costToOptimum.toFixed(2));
  process.stdout.write(
    `cost = polls + ${POLLS_PER_SECOND_SAVED} × lag, for a job of 75 s + lognormal(30 s, 0.9)\n`,
  );
}

function main() {
  const rows = measurePolls();
  print(rows);
  const unknown = measureUnknown();
  for (const { seconds, polls, foundAfterSeconds } of unknown)
    process.stdout.write(
      `unknown, ${seconds} s: ${polls} polls, found after ${foundAfterSeconds.toFixed(1)} s\n`,
    );
  const at = process.argv.indexOf('--json');
  if (at > 0)
    writeFileSync(process.argv[at + 1], `${JSON.stringify({ polls: rows, unknown }, undefined, 2)}\n`);
}

module.exports = { measurePolls, print };

if (require.main === module) main();
