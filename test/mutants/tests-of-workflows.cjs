// The tests of the workflows: which of them reach a mutant, and whether one fails with it.
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { BUNDLES } = require('./bundle.cjs');
const { CACHE, ROOT, readJson, sha256, writeJson } = require('./cache.cjs');
const { sideBySide } = require('./side-by-side.cjs');
const { startJest } = require('./start-jest.cjs');

const FOLDERS = ['test/workflows', 'test/time-skipping'];
/** What no test server shows: resets, search attributes, cancellations, and decisions while others run. */
const OTHERS = [
  'test/contract/job-input.test.ts',
  'test/real-server/cancellation.test.ts',
  'test/real-server/costs.test.ts',
  'test/real-server/decisions.test.ts',
  'test/real-server/fallback.test.ts',
  'test/real-server/forgotten.test.ts',
  'test/real-server/one-batch.test.ts',
  'test/real-server/one-job.test.ts',
  'test/real-server/queues.test.ts',
  'test/real-server/resets.test.ts',
  'test/real-server/search-attributes.test.ts',
  'test/real-server/services.test.ts',
  'test/real-server/traces.test.ts',
  'test/real-server/ui-details.test.ts',
];
/** The quickest tests that reach a mutant, for so long. */
const LONGEST_MS = 100_000;
const LONGEST_FILE_MS = 240_000;
/** The workflows as they are: no mutant has this id. */
const NONE = 'none';
const KNOWN = join(CACHE, 'reached-by-tests.json');

/** The tests of all files, each with what it reaches. Those of a file are measured again when it or the workflows have changed. */
async function readTests(log, lanes) {
  const bundle = readFileSync(BUNDLES.tests, 'utf8');
  const known = readJson(KNOWN, {});
  const files = testFiles().map((file) => ({
    file,
    of: sha256(`${bundle}${readFileSync(join(ROOT, file), 'utf8')}`),
  }));
  const unknown = files.filter(({ file, of }) => known[file]?.of !== of);
  await sideBySide(lanes, unknown, async (_, { file, of }) => {
    const tests = await seeTests(file);
    known[file] = { of, tests };
    writeJson(KNOWN, known);
    const useful = tests.filter(({ reached }) => reached.length > 0);
    log(`${file}: ${useful.length} of ${tests.length} tests reach mutants`);
  });
  return files.flatMap(({ file, of }) => known[file].tests.map((test) => ({ ...test, file, of })));
}

async function seeTests(file) {
  const reached = join(CACHE, 'reached', `${file}.json`);
  writeJson(reached, []);
  await runJest(file, { env: { VIDEOGEN_MUTANTS_REACHED: reached } });
  return readJson(reached);
}

function testFiles() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => join(folder, file)),
  );
  return [...files, ...OTHERS].sort();
}

/** Why the tests kill a mutant; if none does, the files of which all tests that reach it were tried. */
async function failWith(tests, id) {
  const reaching = tests.filter(({ reached }) => reached.includes(id));
  const chosen = quickest(reaching);
  for (const [file, names] of byFile(chosen)) {
    const failed = await runTests(file, names, id);
    // It may fail by chance, or because a test before it did not run.
    if (failed !== undefined && !(await runTests(file, names, NONE)) && (await runTests(file, names, id))) {
      return { failed };
    }
  }
  const isLeft = ({ file }) => reaching.some((test) => test.file === file && !chosen.includes(test));
  return {
    tried: Object.fromEntries(chosen.filter((test) => !isLeft(test)).map(({ file, of }) => [file, of])),
  };
}

function quickest(tests) {
  let leftMs = LONGEST_MS;
  return tests
    .toSorted((a, b) => a.ms - b.ms)
    .filter(({ ms }) => {
      leftMs -= ms;
      return leftMs >= 0;
    });
}

function byFile(tests) {
  const files = new Map();
  for (const { file, name } of tests) files.set(file, [...(files.get(file) ?? []), name]);
  return files;
}

/** Why they fail with a mutant; undefined if they do not. */
async function runTests(file, names, mutant) {
  const pattern = names.map((name) => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|');
  const { code, isLate, output } = await runJest(file, {
    args: ['-t', pattern],
    env: { VIDEOGEN_MUTANT: mutant },
  });
  if (isLate) return 'no end';
  if (code === 0) return undefined;
  const [, failed = 'it cannot be loaded'] = /^ +● (.+)$/m.exec(output) ?? [];
  return `${file}: ${failed}`;
}

async function runJest(file, { args, env }) {
  const jest = startJest('jest.workflows.cjs', file, {
    args,
    env: { ...env, VIDEOGEN_MUTATED_BUNDLE: BUNDLES.tests },
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    jest.end();
  }, LONGEST_FILE_MS);
  const { code } = await jest.ended;
  clearTimeout(timer);
  jest.end();
  return { code, isLate, output: jest.output() };
}

module.exports = { failWith, readTests };
