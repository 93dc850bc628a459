// Runs many more scripts than the suite does: `npm run model -- --scripts 50000 --seed 7`. Ctrl-C says with which `--from` to
// continue: the scripts of a run are the same, however often it was interrupted.
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
    // A script waits about half of its time for its server, and another one uses the core meanwhile.
    processes: { type: 'string', default: String(2 * availableParallelism()) },
    // Scripts before this one were checked by an earlier run.
    from: { type: 'string', default: '0' },
    // A mistake of breaks.ts, which the run must find.
    break: { type: 'string' },
  },
});

function refuse(line) {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}
for (const [name, number] of Object.entries({
  scripts: /^[1-9]\d*$/,
  processes: /^[1-9]\d*$/,
  from: /^\d+$/,
}))
  if (!number.test(values[name])) refuse(`--${name} is ${values[name]}: give a number, such as 4.`);
if (values.break !== undefined && !(values.break in BREAKS))
  refuse(`--break is ${values.break}: give one of ${Object.keys(BREAKS).join(', ')}.`);

/** Each share is checked by one process, with a seed of its own: the processes change nothing but the time. */
const SHARE = 250;

/** The shares that are left after an interruption; the first of them is checked as a whole. */
const all = Number(values.scripts);
const shares = Array.from({ length: Math.ceil(all / SHARE) }, (_, index) => ({
  from: index * SHARE,
  scripts: Math.min(SHARE, all - index * SHARE),
})).filter(({ from, scripts }) => from + scripts > Number(values.from));

const startedAtMs = Date.now();
const folder = mkdtempSync(join(tmpdir(), 'videogen-model-'));
const children = new Set();
const finished = new Set();
const total = { scripts: 0, jobs: 0, runs: 0, outcomes: {} };
const failedOnce = [];
let problem;

/** Checks shares, one after the other, in a process of its own. */
async function checkShares(codePath, waiting) {
  const child = fork(join(__dirname, 'check-process.cjs'), [codePath], {
    env: { ...process.env, VIDEOGEN_SEED: values.seed, [BREAK_VARIABLE]: values.break ?? '' },
    // A group of its own, so that Temporal's server ends with it.
    detached: true,
    // Fewer collections of short-lived objects.
    execArgv: ['--max-semi-space-size=64'],
  });
  children.add(child);
  for (let share = waiting.shift(); share && problem === undefined; share = waiting.shift()) {
    const { report, error } = await check(child, share);
    const found = error === undefined ? report.failure : `${JSON.stringify(share)}: ${error}`;
    if (report) add(report);
    if (found === undefined) {
      finished.add(share.from);
      process.stderr.write(`${total.scripts} scripts, ${seconds()} s\n`);
    } else {
      // At once: the others take minutes until their ends.
      process.stderr.write(`${found}\n`);
      problem ??= found;
    }
  }
  children.delete(child);
  end(child);
}

function check(child, share) {
  return new Promise((resolve) => {
    const onExit = (code) => resolve({ error: `the process ended with ${code}` });
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
    child.send(share);
  });
}

function add({ outcomes, ...report }) {
  for (const name of ['scripts', 'jobs', 'runs']) total[name] += report[name];
  for (const [outcome, times] of Object.entries(outcomes))
    total.outcomes[outcome] = (total.outcomes[outcome] ?? 0) + times;
  failedOnce.push(...report.failedOnce);
}

/** With its group. */
function end({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

const seconds = () => ((Date.now() - startedAtMs) / 1_000).toFixed(0);

/** Ends everything, and says what was found so far and with which `--from` to continue. */
function close(verdict) {
  for (const child of children) end(child);
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`${JSON.stringify(total)}\n`);
  if (failedOnce.length > 0)
    process.stdout.write(
      `Scripts that failed among others, but not alone: ${failedOnce.length}.\n${failedOnce.join('\n')}\n`,
    );
  if (problem !== undefined) process.stdout.write(`${problem}\n`);
  const { from } = shares.find((share) => !finished.has(share.from)) ?? { from: all };
  process.stdout.write(`${verdict}${from < all ? ` Continue with --from ${from}.` : ''}\n`);
}

function onInterrupt() {
  close(`Interrupted after ${seconds()} s.`);
  process.exit(130);
}

async function main() {
  await useTestServers();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const codePath = join(folder, 'workflows.js');
  writeFileSync(codePath, await require('./script-runner.ts').bundleWorkflows());
  const waiting = [...shares];
  const processes = Math.min(Number(values.processes), waiting.length);
  await Promise.all(Array.from({ length: processes }, () => checkShares(codePath, waiting)));
  const verdict = problem === undefined ? 'Everything that happened is allowed' : 'The model found a mistake';
  close(`${verdict} (seed ${values.seed}; ${seconds()} s).`);
  if (problem !== undefined) process.exitCode = 1;
}

main().catch((error) => {
  for (const child of children) end(child);
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
