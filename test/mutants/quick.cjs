// Mutants of what the quick tests hold. Stryker's own runner loads every test file anew for each mutant, which takes days:
// here a file is loaded once, and its tests run again for each mutant that they reach.
const { mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { CACHE, ROOT, sha256 } = require('./cache.cjs');
const { instrument } = require('./instrument.cjs');
const { addResults, choose, hashOf, isKilled, keyOf, noteTotals, readResults } = require('./results.cjs');
const { sideBySide } = require('./side-by-side.cjs');
const { startJest } = require('./start-jest.cjs');

/** The tests beside each mutated folder. */
const TESTS = {
  'src/contract': 'test/contract',
  'src/service': 'test/service',
  'src/storage': 'test/storage',
  activities: 'test/activities',
};
/** Tests of what uses them. */
const OTHER_TESTS = ['test/workflows', 'test/client', 'test/config'];
/** They reach nearly everything and take many seconds; other tests hold what they hold. */
const TOO_SLOW = [
  'test/activities/download/hostile-downloads.test.ts',
  'test/activities/other-services.test.ts',
];
/** What the quickest tests do not kill is left to slower ones: how long the tests of one file may take for one mutant. */
const ROUNDS = [
  { name: 'quickest', longestMs: 60 },
  { name: 'quick', longestMs: 400 },
  { name: 'slow', longestMs: 2_000 },
];
/** All code uses it, so that the quickest tests of all folders hold it. Others are measured with the tests beside them. */
const USED_BY_ALL = 'src/contract/';
const LANES = [1, 2];
const CHECK_INTERVAL_MS = 250;
/** Nothing takes so long, not even the first run of a file's tests: the mutant has stopped the process. */
const LONGEST_SILENCE_MS = 120_000;

/** What runs the tests: what it has tried before it was changed is tried again. */
const RUNNER = ['jest.quick.cjs', 'quick-environment.cjs', 'repeatable-tests.cjs']
  .map((file) => readFileSync(join(__dirname, file), 'utf8'))
  .join('');

/** Measures mutants and adds the results to those of earlier runs. */
async function measureQuick({ only, sample, seed, again, log }) {
  const mutants = await instrument('quick');
  noteTotals(mutants);
  const known = readResults();
  const chosen = choose(
    mutants.filter(({ file }) => file.startsWith(only ?? '')),
    { sample, seed },
  ).map((mutant) => ({ ...mutant, ...(again ? {} : known[mutant.file]?.mutants[keyOf(mutant)]) }));
  const files = testFilesFor(chosen);
  const run = new QuickRun(chosen, files, log);
  log(`${mutants.length} mutants, ${chosen.length} chosen, ${run.unfinished().length} to measure`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => run.stop());
  for (const round of ROUNDS) {
    await sideBySide(LANES, files, (_, file) => run.measureWith(file, round));
  }
  addResults(run.results());
}

/** Those beside the mutants first: they kill most. */
function testFilesFor(chosen) {
  const hasMutants = (folder) => chosen.some(({ file }) => file.startsWith(`${folder}/`));
  const folders = Object.keys(TESTS).sort((a, b) => Number(hasMutants(b)) - Number(hasMutants(a)));
  return [...folders.map((folder) => TESTS[folder]), ...OTHER_TESTS].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => join(folder, file))
      .filter((file) => !TOO_SLOW.includes(file))
      .sort(),
  );
}

class QuickRun {
  children = new Set();

  constructor(mutants, files, log) {
    this.mutants = new Map(mutants.map((mutant) => [mutant.id, mutant]));
    this.hashes = Object.fromEntries(
      files.map((file) => [file, sha256(RUNNER + readFileSync(join(ROOT, file), 'utf8'))]),
    );
    this.sources = Object.fromEntries(mutants.map(({ file }) => [file, hashOf(file)]));
    this.log = log;
  }

  /** The mutants that nothing has killed and that a test file, in its present form, has not been tried on. */
  open(file, round) {
    return [...this.mutants.values()].filter(
      (mutant) => !isKilled(mutant) && this.isOpenFor(mutant, file, round),
    );
  }

  isOpenFor(mutant, file, round) {
    const isUser = round === ROUNDS[0] && mutant.file.startsWith(USED_BY_ALL);
    return (isUser || isBeside(file, mutant)) && mutant.tried?.[triedKey(file, round)] !== this.hashes[file];
  }

  unfinished() {
    return [...this.mutants.values()].filter((mutant) => this.isUnfinished(mutant));
  }

  isUnfinished(mutant) {
    const files = Object.keys(this.hashes);
    return (
      !isKilled(mutant) && ROUNDS.some((round) => files.some((file) => this.isOpenFor(mutant, file, round)))
    );
  }

  async measureWith(file, round) {
    const counts = { open: this.open(file, round).length, killed: 0 };
    if (counts.open === 0) return;
    const startedAt = Date.now();
    for (let next = { first: [] }; next !== undefined; ) {
      const open = this.open(file, round).map(({ id }) => id);
      if (open.length === 0) break;
      const order = [...next.first, ...open.filter((id) => !next.first.includes(id))];
      next = await this.runTests(file, round, order, counts);
      addResults(this.results());
    }
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    this.log(`${round.name} ${file}: ${counts.killed} of ${counts.open} killed, ${seconds} s`);
  }

  /** Runs a test file in a process of its own. Returns which mutants come first in the next one, if it needs one. */
  async runTests(file, round, open, counts) {
    const work = join(CACHE, 'quick', file);
    mkdirSync(work, { recursive: true });
    const [order, report] = ['order.json', 'report.jsonl'].map((name) => join(work, name));
    const sources = [...new Set(open.map((id) => this.mutants.get(id).file))];
    writeFileSync(order, JSON.stringify({ open, sources, ...round }));
    writeFileSync(report, '');
    const env = { VIDEOGEN_MUTANTS_ORDER: order, VIDEOGEN_MUTANTS_REPORT: report };
    const child = startJest('jest.quick.cjs', file, { env });
    this.children.add(child);
    const lines = [];
    let lastAt = Date.now();
    for (let isOver = false; !isOver; ) {
      isOver = (await Promise.race([child.ended, sleep(CHECK_INTERVAL_MS)])) !== undefined;
      const added = readLines(report).slice(lines.length);
      for (const line of added) this.apply(file, round, open, line, counts);
      lines.push(...added);
      if (added.length > 0) lastAt = Date.now();
      isOver ||= lines.at(-1)?.restart || lines.at(-1)?.done || Date.now() - lastAt > LONGEST_SILENCE_MS;
    }
    child.end();
    this.children.delete(child);
    const { done, unclear, started } = lines.at(-1) ?? {};
    if (lines.length === 0) {
      this.log(`${file} cannot be run: ${child.output().slice(0, 1_000)}`);
      for (const id of open) this.note(id, { tried: file, round });
    }
    if (done || lines.length === 0) return undefined;
    if (started !== undefined)
      this.apply(file, round, open, { killed: started, by: 'no end', isStuck: true }, counts);
    return { first: unclear === undefined ? [] : [unclear] };
  }

  /** Keeps what is known so far. */
  stop() {
    for (const child of this.children) child.end();
    addResults(this.results());
    process.exit(1);
  }

  apply(file, round, open, { reached, atLoad, survived, killed, by, isStuck }, counts) {
    if (reached !== undefined) {
      for (const id of open) if (!reached.includes(id)) this.note(id, { tried: file, round });
      for (const id of reached) this.note(id, { isReached: true });
      for (const id of atLoad) this.note(id, { isAtLoad: true });
    }
    if (survived !== undefined) this.note(survived, { tried: file, round });
    if (killed === undefined) return;
    counts.killed += 1;
    this.note(killed, { status: isStuck ? 'timed out' : 'killed', by: `${file}: ${by}` });
  }

  note(id, { tried, round, ...facts }) {
    const mutant = this.mutants.get(id);
    Object.assign(mutant, facts);
    if (tried !== undefined) mutant.tried = { ...mutant.tried, [triedKey(tried, round)]: this.hashes[tried] };
  }

  /** Those that not all tests have been tried on have no status yet. A source may have been edited meanwhile. */
  results() {
    const unchanged = [...this.mutants.values()].filter(({ file }) => this.sources[file] === hashOf(file));
    return unchanged.map(({ id, ...mutant }) => {
      if (isKilled(mutant)) return { ...mutant, tried: undefined };
      if (this.isUnfinished(mutant)) return { ...mutant, status: 'unfinished' };
      const { isReached, isAtLoad } = mutant;
      if (isReached) return { ...mutant, status: 'survived' };
      return isAtLoad
        ? { ...mutant, status: 'static' }
        : { ...mutant, status: 'survived', by: 'no quick test reaches it' };
    });
  }
}

function triedKey(file, { name }) {
  return `${file} ${name}`;
}

function isBeside(testFile, { file }) {
  return Object.entries(TESTS).some(
    ([folder, tests]) => file.startsWith(`${folder}/`) && testFile.startsWith(`${tests}/`),
  );
}

/** The last line may not be whole yet. */
function readLines(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

module.exports = { measureQuick };
