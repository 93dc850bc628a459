// The tests of the workflows: which of them reach a mutant, and whether one fails with it.
const { spawn } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { BUNDLES } = require('./bundle.cjs');
const { CACHE, ROOT, readJson, sha256, writeJson } = require('./cache.cjs');
const { killGroup } = require('./kill-group.cjs');

const FOLDERS = ['test/workflows', 'test/time-skipping'];
/** What no test server shows: resets, search attributes, and decisions while others run. */
const OTHERS = [
  'test/contract/batch-input.test.ts',
  'test/contract/job-input.test.ts',
  'test/real-server/caps.test.ts',
  'test/real-server/decisions.test.ts',
  'test/real-server/one-batch.test.ts',
  'test/real-server/one-job.test.ts',
  'test/real-server/resets.test.ts',
  'test/real-server/search-attributes.test.ts',
];
/** The quickest tests that reach a mutant, for so long. */
const LONGEST_MS = 30_000;
const LONGEST_FILE_MS = 240_000;
const KNOWN = join(CACHE, 'reached-by-tests.json');

/** The tests of all files, each with what it reaches. Those of a file are measured again when it or the workflows have changed. */
async function readTests(log, sideBySide) {
  const bundle = readFileSync(BUNDLES.tests, 'utf8');
  const known = readJson(KNOWN, {});
  const files = testFiles().map((file) => ({
    file,
    of: sha256(`${bundle}${readFileSync(join(ROOT, file), 'utf8')}`),
  }));
  const queue = files.filter(({ file, of }) => known[file]?.of !== of);
  const takeNext = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { file, of } = next;
      const tests = await seeTests(file);
      known[file] = { of, tests };
      writeJson(KNOWN, known);
      const useful = tests.filter(({ reached }) => reached.length > 0);
      log(`${file}: ${useful.length} of ${tests.length} tests reach mutants`);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, takeNext));
  return files.flatMap(({ file }) => known[file].tests.map((test) => ({ ...test, file })));
}

async function seeTests(file) {
  const reached = join(CACHE, 'reached', `${file}.json`);
  writeJson(reached, []);
  await runJest([file], { VIDEOGEN_MUTANTS_REACHED: reached });
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

/** Why the tests kill a mutant; undefined if none does. */
async function failWith(tests, id) {
  for (const [file, names] of byFile(quickest(tests, id))) {
    const failed = await runTests(file, names, id);
    // Once more: it may fail by chance.
    if (failed !== undefined && (failed === 'no end' || (await runTests(file, names, id)) !== undefined)) {
      return failed;
    }
  }
  return undefined;
}

function quickest(tests, id) {
  let leftMs = LONGEST_MS;
  return tests
    .filter(({ reached }) => reached.includes(id))
    .sort((a, b) => a.ms - b.ms)
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

async function runTests(file, names, mutant) {
  const pattern = names.map((name) => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|');
  const { code, isLate, output } = await runJest([file, '--bail', '-t', pattern], {
    VIDEOGEN_MUTANT: mutant,
  });
  if (isLate) return 'no end';
  if (code === 0) return undefined;
  const [, failed = 'it cannot be loaded'] = /^ +● (.+)$/m.exec(output) ?? [];
  return `${file}: ${failed}`;
}

async function runJest(args, env) {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const config = join(__dirname, 'jest.workflows.cjs');
  const child = spawn(process.execPath, [jest, '--config', config, '-i', '--silent', ...args], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env, VIDEOGEN_MUTATED_BUNDLE: BUNDLES.tests },
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child);
  }, LONGEST_FILE_MS);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  killGroup(child);
  return { code, isLate, output };
}

module.exports = { failWith, readTests };
