// Plays many more scripts than the suite does: `npm run model -- --scripts 50000 --seed 7`. Ctrl-C says with which `--from` it
// goes on: the scripts of a run are the same, however often it was interrupted.
const { fork } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { availableParallelism, tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
require('../support/run-typescript.cjs');
const useTestServers = require('../support/use-test-servers.cjs');
const { BREAK_VARIABLE, BREAKS } = require('./breaks.ts');

const { values } = parseArgs({
  options: {
    scripts: { type: 'string', default: '10000' },
    seed: { type: 'string', default: 'fox' },
    // A play waits about half of its time for its server, and another one uses the core meanwhile.
    processes: { type: 'string', default: String(2 * availableParallelism()) },
    // Scripts before this one were played by an earlier run.
    from: { type: 'string', default: '0' },
    // A mistake of breaks.ts, which the run must find.
    break: { type: 'string' },
  },
});

for (const [name, least] of [
  ['scripts', 0],
  ['processes', 1],
  ['from', 0],
]) {
  if (/^\d+$/.test(values[name]) && Number(values[name]) >= least) continue;
  process.stderr.write(`--${name} is ${values[name]}: give a number, such as 4.\n`);
  process.exit(2);
}

if (values.break !== undefined && !(values.break in BREAKS)) {
  process.stderr.write(`--break is ${values.break}: give one of ${Object.keys(BREAKS).join(', ')}.\n`);
  process.exit(2);
}

/** Each share is played by one process, with a seed of its own: the processes change nothing but the time. */
const SHARE = 250;
const PRINT_EVERY_MS = 5_000;

/** The shares that are left after an interruption; the first of them is played as a whole. */
function orders() {
  const all = Number(values.scripts);
  return Array.from({ length: Math.ceil(all / SHARE) }, (_, index) => ({
    from: index * SHARE,
    scripts: Math.min(SHARE, all - index * SHARE),
  })).filter(({ from, scripts }) => from + scripts > Number(values.from));
}

/** The first script that no finished share contains. */
function firstUnplayed(total) {
  return orders().find(({ from }) => !total.finished.has(from))?.from ?? Number(values.scripts);
}

async function bundle(folder) {
  const { bundlePlayed } = require('./script-player.ts');
  const path = join(folder, 'workflows.js');
  writeFileSync(path, await bundlePlayed());
  return path;
}

const players = new Set();

/** Plays orders, one after the other, in a process of its own. */
async function startPlayer(codePath, waiting, total) {
  const child = fork(join(__dirname, 'player.cjs'), [codePath], {
    env: { ...process.env, VIDEOGEN_SEED: values.seed, [BREAK_VARIABLE]: values.break ?? '' },
    // A group of its own, so that Temporal's server ends with it.
    detached: true,
    // Fewer collections of short-lived objects.
    execArgv: ['--max-semi-space-size=64'],
  });
  players.add(child);
  const progress = { played: 0, processorMs: 0 };
  total.players.push(progress);
  try {
    for (let order = waiting.shift(); order && total.problem === undefined; order = waiting.shift()) {
      const { report, error, ...spent } = await play(child, order, progress);
      progress.played = 0;
      Object.assign(progress, spent);
      const problem = error === undefined ? report.failure : `${JSON.stringify(order)}: ${error}`;
      if (problem !== undefined) {
        // At once: the others still play for minutes.
        process.stderr.write(`${problem}\n`);
        total.problem ??= problem;
      }
      if (report) add(total, report);
      total.failedOnce.push(...(report?.failedOnce ?? []));
      if (problem === undefined) total.finished.add(order.from);
    }
  } finally {
    players.delete(child);
    end(child);
  }
}

function play(child, order, progress) {
  return new Promise((resolve) => {
    const onExit = (code) => resolve({ error: `the process ended with ${code}` });
    const onMessage = (message) => {
      if ('played' in message) {
        progress.played = message.played;
        return;
      }
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(message);
    };
    child.on('message', onMessage);
    child.once('exit', onExit);
    child.send(order);
  });
}

function add({ counts }, { played, jobs, runs, outcomes }) {
  counts.played += played;
  counts.jobs += jobs;
  counts.runs += runs;
  for (const [outcome, times] of Object.entries(outcomes))
    counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + times;
}

/** With its group. */
function end({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

async function main() {
  await useTestServers();
  const startedAtMs = Date.now();
  const folder = mkdtempSync(join(tmpdir(), 'videogen-model-'));
  const total = {
    players: [],
    counts: { played: 0, jobs: 0, runs: 0, outcomes: {} },
    finished: new Set(),
    failedOnce: [],
    problem: undefined,
  };
  const sum = (of) => total.players.reduce((all, player) => all + player[of], 0);
  const scriptsLeft = orders().reduce((all, { scripts }) => all + scripts, 0);
  const seconds = () => ((Date.now() - startedAtMs) / 1_000).toFixed(0);
  const once = () =>
    total.failedOnce.length === 0
      ? ''
      : `Scripts that failed among others, but not when they were played alone: ${total.failedOnce.length}.\n${total.failedOnce.join('\n')}\n`;
  const spent = () => `${seconds()} s, ${(sum('processorMs') / 1_000).toFixed(0)} s of processor time`;
  const onInterrupt = () => {
    for (const child of players) end(child);
    process.stdout.write(
      `${JSON.stringify(total.counts)}\n${once()}Interrupted after ${spent()}${total.problem === undefined ? ', without a finding' : ''}. It goes on with --from ${firstUnplayed(total)}.\n`,
    );
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const printing = setInterval(() => {
    const played = total.counts.played + sum('played');
    process.stderr.write(`${played} of ${scriptsLeft} scripts, ${seconds()} s\n`);
  }, PRINT_EVERY_MS);
  try {
    const codePath = await bundle(folder);
    const waiting = orders();
    const processes = Math.min(Number(values.processes), waiting.length);
    await Promise.all(Array.from({ length: processes }, () => startPlayer(codePath, waiting, total)));
  } finally {
    clearInterval(printing);
    for (const child of players) end(child);
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${JSON.stringify(total.counts)}\n${once()}`);
  if (total.problem === undefined) {
    process.stdout.write(`Everything that happened is allowed (seed ${values.seed}; ${spent()}).\n`);
    return;
  }
  process.stdout.write(`${total.problem}\n`);
  if (values.break === undefined) {
    process.stdout.write(`Once this is mended, it goes on with --from ${firstUnplayed(total)}.\n`);
  }
  process.exitCode = 1;
}

main().catch((error) => {
  process.stderr.write(`${error}\n`);
  process.exitCode = 1;
});
