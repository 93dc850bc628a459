// Runs many more scripts than the suite does: `npm run model -- --scripts 50000 --seed 7`.
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
    // A mistake of breaks.ts, which the run must find.
    break: { type: 'string' },
  },
});

function refuse(line) {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}
if (!/^[1-9]\d*$/.test(values.scripts))
  refuse(`--scripts is ${values.scripts}: give a number, such as 10000.`);
if (values.break !== undefined && !(values.break in BREAKS))
  refuse(`--break is ${values.break}: give one of ${Object.keys(BREAKS).join(', ')}.`);

/** Each share is checked by one process, with a seed of its own: the processes change nothing but the time. */
const SHARE = 250;
/** A script waits about half of its time for its server, and another one uses the core meanwhile. */
const PROCESSES = 2 * availableParallelism();

const all = Number(values.scripts);
const waiting = Array.from({ length: Math.ceil(all / SHARE) }, (_, index) => ({
  from: index * SHARE,
  scripts: Math.min(SHARE, all - index * SHARE),
}));

const startedAtMs = Date.now();
const seconds = () => ((Date.now() - startedAtMs) / 1_000).toFixed(0);
const total = { scripts: 0, jobs: 0, runs: 0 };
const failedOnce = [];
let problem;

/** Checks shares, one after the other, in a process of its own. */
async function checkShares(codePath) {
  const child = fork(join(__dirname, 'check-process.cjs'), [codePath], {
    env: { ...process.env, VIDEOGEN_SEED: values.seed, [BREAK_VARIABLE]: values.break ?? '' },
    // A group of its own, so that Temporal's server ends with it: when this process ends, or disconnects.
    detached: true,
    // Fewer collections of short-lived objects.
    execArgv: ['--max-semi-space-size=64'],
  });
  for (let share = waiting.shift(); share && problem === undefined; share = waiting.shift()) {
    const { report, error } = await check(child, share);
    if (report) {
      for (const name of Object.keys(total)) total[name] += report[name];
      failedOnce.push(...report.failedOnce);
    }
    const found = report ? report.failure : `${JSON.stringify(share)}: ${error}`;
    // At once: the others take minutes until their ends.
    process.stderr.write(`${found ?? `${total.scripts} scripts, ${seconds()} s`}\n`);
    problem ??= found;
  }
  if (child.connected) child.disconnect();
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

async function main() {
  await useTestServers();
  const folder = mkdtempSync(join(tmpdir(), 'videogen-model-'));
  try {
    const codePath = join(folder, 'workflows.js');
    writeFileSync(codePath, await require('./script-runner.ts').bundleWorkflows());
    const processes = Math.min(PROCESSES, waiting.length);
    await Promise.all(Array.from({ length: processes }, () => checkShares(codePath)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${JSON.stringify(total)}\n`);
  if (failedOnce.length > 0)
    process.stdout.write(
      `Scripts that failed among others, but not alone: ${failedOnce.length}.\n${failedOnce.join('\n')}\n`,
    );
  if (problem !== undefined) process.stdout.write(`${problem}\n`);
  const verdict = problem === undefined ? 'Everything that happened is allowed' : 'The model found a mistake';
  process.stdout.write(`${verdict} (seed ${values.seed}; ${seconds()} s).\n`);
  process.exitCode = problem === undefined ? 0 : 1;
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
