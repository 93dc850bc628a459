/**
 * The yardstick: `npm run yardstick`. Every contestant makes one video in each case of each seed, and the judge says what it
 * cost. `--only fal,ours` runs some contestants, `--case download` some cases, `--seeds 1,2` other seeds, `--page` writes the
 * table into the page, `--verbose` prints what the programs said.
 */
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const { casesOf } = require('./cases.cjs');
const { CONTESTANTS } = require('./contestants/index.cjs');
const { sumOf } = require('./judge.cjs');
const { runCase } = require('./run-case.cjs');
const { startServers } = require('./servers.cjs');

/** Most of a case is waiting. */
const AT_ONCE = 6;

const print = (line) => process.stdout.write(`${line}\n`);

/** The protocols are those of the tests, and of the emulator itself. */
function dialectOf(name) {
  require('../../test/support/run-typescript.cjs');
  if (name === undefined) return require('../../dist/src/testing/dialect').INTERFACE;
  if (name === 'ai-sdk-fal') return require('../../dist/src/testing/fal-dialect').FAL;
  return require('../../test/dialects').dialectOf(name);
}

/** Ours and Temporal's are in the repository's own node_modules. */
function versionOf(name) {
  const file = [__dirname, join(__dirname, '../..')]
    .map((folder) => join(folder, 'node_modules', name, 'package.json'))
    .find(existsSync);
  return file && JSON.parse(readFileSync(file, 'utf8')).version;
}

/** A word for each case: what a reader of the table sees first. */
function wordOf({ paid, delivered, paidTwice, corruptAccepted, askedPerson, hasHappened }) {
  if (!hasHappened) return 'no counterpart';
  const words = [
    corruptAccepted && 'corrupt',
    !delivered && !corruptAccepted && (paid > 0 ? 'lost' : 'gave up'),
    paidTwice && `paid ${paid} times`,
    askedPerson && 'asked',
  ].filter(Boolean);
  return words.join(', ') || 'delivered';
}

/** Runs tasks, at most `AT_ONCE` at a time. */
async function inTurn(tasks) {
  const waiting = [...tasks];
  const one = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      case: { type: 'string' },
      seeds: { type: 'string', default: '1' },
      page: { type: 'boolean' },
      verbose: { type: 'boolean' },
    },
  });
  const { startEmulator } = require('../../dist/src/testing/emulator');
  const seeds = values.seeds.split(',');
  const cases = seeds.flatMap(casesOf).filter(({ name }) => name.includes(values.case ?? ''));
  const contestants = CONTESTANTS.filter(({ name }) => values.only?.split(',').includes(name) ?? true);
  const results = new Map(contestants.map(({ name }) => [name, []]));
  const startedAt = Date.now();
  const servers = await startServers(new Set(contestants.flatMap(({ needs = [] }) => needs)));

  const tasks = contestants.flatMap((contestant) =>
    cases.map((testCase) => async () => {
      const { program } = contestant;
      const result = await runCase({ program, dialect: dialectOf(contestant.dialect) }, testCase, {
        startEmulator,
        env: servers.env,
        name: `${contestant.name}-${testCase.seed}-${cases.indexOf(testCase)}`,
      });
      results.get(contestant.name).push({ testCase, ...result });
      print(
        `${contestant.name.padEnd(12)} seed ${testCase.seed}  ${testCase.name.padEnd(36)} ${wordOf(result)}`,
      );
      if (values.verbose && result.log) print(result.log.trim().replace(/^/gm, '    '));
    }),
  );
  await inTurn(tasks).finally(() => servers.stop());

  for (const { name, title, packages = [] } of contestants) {
    const happened = results.get(name).filter(({ hasHappened }) => hasHappened);
    const asked = happened.filter(({ askedPerson }) => askedPerson).length;
    const versions = packages.map((each) => versionOf(each));
    print(JSON.stringify({ title, versions, cases: happened.length, ...sumOf(happened), asked }));
  }
  print(`${Math.round((Date.now() - startedAt) / 1_000)} s`);
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
