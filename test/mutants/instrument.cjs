// Writes sources with all their mutants in them; which of these is active is decided when they run.
const { mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const { CACHE, ROOT } = require('./cache.cjs');
const { oneLine, textAt } = require('./results.cjs');

const INSTRUMENTED = join(CACHE, 'instrumented');

/** The two halves of the code, each with mutants of its own. */
const HALVES = {
  quick: ['src/contract', 'src/service', 'src/storage', 'activities'],
  workflows: ['workflows'],
};

/** Temporal freezes what is global in its sandbox, so that the functions of Stryker itself do not work there. */
const HELPERS = {
  workflows: `
function stryMutAct_9fa48(id: string) {
  return globalThis.__mutant__ === id;
}
function stryCov_9fa48(...ids: string[]) {
  if (globalThis.__mutant__ !== undefined) return;
  globalThis.__reached__ ??= new Set();
  for (const id of ids) globalThis.__reached__.add(id);
}
`,
  // What is global is slow to reach in jest, so it is reached once. A mutant that never leaves a loop is stopped here, as no timer
  // can stop it.
  quick: `
var mutants_9fa48: any;
function stryMutAct_9fa48(id: string) {
  mutants_9fa48 ??= globalThis.__mutants__;
  if (mutants_9fa48.active !== id) return false;
  mutants_9fa48.hitsLeft -= 1;
  if (mutants_9fa48.hitsLeft < 0) throw new Error('This mutant is reached too often.');
  return true;
}
function stryCov_9fa48(...ids: string[]) {
  mutants_9fa48 ??= globalThis.__mutants__;
  if (mutants_9fa48.active !== undefined) return;
  mutants_9fa48.coverageLeft -= 1;
  if (mutants_9fa48.coverageLeft < 0) throw new Error('This test reaches mutants too often.');
  for (let index = 0; index < ids.length; index++) mutants_9fa48.hits[ids[index]] += 1;
}
`,
};

/** Returns the mutants of a half, each with an id. */
async function instrument(half) {
  const { createInstrumenter } = await load('@stryker-mutator/instrumenter');
  const { createInjector } = await load('typed-inject');
  const silent = new Proxy({}, { get: () => () => false });
  const instrumenter = createInjector().provideValue('logger', silent).injectFunction(createInstrumenter);
  const files = HALVES[half]
    .flatMap(sourcesIn)
    .map((name) => ({ name, mutate: true, content: readSource(name) }));
  const { wording } = await import('./wording.mjs');
  const options = { excludedMutations: EXCLUDED, ignorers: [wording], plugins: null, noHeader: true };
  const result = await instrumenter.instrument(files, options);
  for (const { name, content } of result.files) {
    const path = join(INSTRUMENTED, half, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${content}\n${HELPERS[half]}`);
  }
  const measured = result.mutants.filter(({ status }) => status !== 'Ignored');
  return measured.map(({ id, fileName: file, location, mutatorName: mutator, replacement }) => ({
    id,
    file,
    line: location.start.line + 1,
    column: location.start.column + 1,
    original: textAt(readSource(file), location),
    replacement: oneLine(replacement),
    mutator,
  }));
}

/** Tests hold the wording of messages; another wording is not another behaviour. */
const EXCLUDED = ['StringLiteral'];

/** The packages are ES modules below this folder, which the project's own packages know nothing of. */
function load(name) {
  const { resolve } = createRequire(join(__dirname, 'package.json'));
  return import(resolve(name));
}

function sourcesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('index.ts'))
    .map((file) => join(folder, file))
    .sort();
}

function readSource(file) {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The source with the mutants of a half, of a file by its full path; undefined for a file that has none. */
function instrumentedSource(half, path) {
  const isMutated = HALVES[half].some((folder) => path.startsWith(join(ROOT, folder, '/')));
  if (!isMutated || path.endsWith('index.ts')) return undefined;
  return readFileSync(join(INSTRUMENTED, half, path.slice(ROOT.length)), 'utf8');
}

module.exports = { instrument, instrumentedSource };
