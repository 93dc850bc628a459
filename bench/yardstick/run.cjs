/**
 * The yardstick: `npm run yardstick`. Every contestant makes one video in each case of each seed, and the judge says what it
 * cost. `--only fal,ours` runs some contestants, `--case download` some cases, `--seeds 1,2` other seeds, `--page` writes the
 * table into the page, `--verbose` prints what the programs said.
 */
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const { casesOf } = require('./cases.cjs');
const { CONTESTANTS, NOT_RUN } = require('./contestants/index.cjs');
const { pageOf, rowOf, wordOf, writePage } = require('./report.cjs');
const { runCase } = require('./run-case.cjs');
const { startServers } = require('./servers.cjs');

/** Most of a case is waiting. */
const AT_ONCE = 6;

const print = (line) => process.stdout.write(`${line}\n`);

/** The protocols are those of the tests, and of the emulator itself. */
function dialectOf(name) {
  if (name === undefined) return require('../../dist/src/testing/dialect').INTERFACE;
  if (name === 'ai-sdk-fal') return require('../../dist/src/testing/fal-dialect').FAL;
  return require('../../test/dialects').dialectOf(name);
}

/** Temporal's packages are in the repository's own node_modules. */
function versionOf(name) {
  const file = [__dirname, join(__dirname, '../..')]
    .map((folder) => join(folder, 'node_modules', name, 'package.json'))
    .find(existsSync);
  if (file === undefined) throw new Error(`${name} is not installed: npm ci --prefix bench/yardstick`);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

/** Runs tasks, at most `AT_ONCE` at a time. */
async function inTurn(tasks) {
  const waiting = [...tasks];
  const one = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function measure({ seeds, chosen, pattern, isVerbose }) {
  const { startEmulator } = require('../../dist/src/testing/emulator');
  const startedAt = Date.now();
  const cases = seeds.flatMap(casesOf).filter(({ name }) => name.includes(pattern));
  const servers = await startServers(new Set(chosen.flatMap(({ needs = [] }) => needs)));
  const whyAbsent = ({ needs = [] }) => needs.map((need) => servers.absent[need]).find(Boolean);
  const present = chosen.filter((contestant) => whyAbsent(contestant) === undefined);
  const results = new Map(present.map(({ name }) => [name, []]));

  const tasks = present.flatMap(({ name, program, dialect }) =>
    cases.map((testCase, index) => async () => {
      const job = `${name}-${testCase.seed}-${index}`;
      const world = { startEmulator, env: servers.env, name: job };
      const result = await runCase({ program, dialect: dialectOf(dialect) }, testCase, world);
      results.get(name)[index] = { testCase, ...result };
      print(`${name.padEnd(12)} seed ${testCase.seed}  ${testCase.name.padEnd(36)} ${wordOf(result)}`);
      if (isVerbose && result.log) print(result.log.trim().replace(/^/gm, '    '));
    }),
  );
  await inTurn(tasks).finally(() => servers.stop());

  return {
    measuredOn: new Date().toISOString().slice(0, 10),
    minutes: Math.ceil((Date.now() - startedAt) / 60_000),
    seeds,
    versions: { Node: process.versions.node, ...servers.versions },
    rows: present.map(({ name, title, packages = [], versions = packages.map(versionOf) }) =>
      rowOf(title, versions, results.get(name)),
    ),
    skipped: [
      ...chosen.flatMap((contestant) => {
        const why = whyAbsent(contestant);
        return why === undefined ? [] : [{ title: contestant.title, why }];
      }),
      ...NOT_RUN,
    ],
  };
}

async function main() {
  require('../../test/support/run-typescript.cjs');
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      case: { type: 'string', default: '' },
      seeds: { type: 'string', default: '1' },
      page: { type: 'boolean' },
      verbose: { type: 'boolean' },
    },
  });
  const report = await measure({
    seeds: values.seeds.split(','),
    chosen: CONTESTANTS.filter(({ name }) => values.only?.split(',').includes(name) ?? true),
    pattern: values.case,
    isVerbose: values.verbose,
  });
  print(`\n${pageOf(report)}`);
  if (values.page) writePage(report);
}

if (require.main === module) {
  main().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
}
