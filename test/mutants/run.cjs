// Changes the code in small ways, one at a time, and sees whether a test fails:
//   npm run mutants -- --folder src/service --folder workflows/hold.ts --sample 200 --seed 7
// Stryker's own runner cannot look into Temporal's sandbox. So its instrumenter writes all mutants of a folder into a copy of the
// repository, where VIDEOGEN_MUTANT says which one is active.
const { execFileSync, spawn } = require('node:child_process');
const { createHash, randomUUID } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

const readText = (...path) => fs.readFileSync(join(...path), 'utf8');
const ROOT = join(__dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/videogen-tests/mutants');
/** Tests beside a folder, and tests of what uses it. Those of other folders are in the folder of the same name. */
const TESTS = {
  'src/contract': ['contract', 'activities', 'workflows', 'client', 'config'],
  'src/service': ['service', 'activities', 'cli'],
  'src/storage': ['storage', 'activities'],
  activities: ['activities'],
  workflows: ['workflows', 'time-skipping', 'model', 'real-server'],
};
/** They hold what quicker tests hold, or need programs besides Node. */
const LEFT_OUT =
  /other-services|cli\/(doctor|local-stack|output|show-jobs|usage)|(real-server|time-skipping)\/(cli|encryption|examples|init|gateway|local-server|observability|other-callers|plugin|secrets|test-environment|worker-deployment)/;
/** How long the tests of one mutant may take, the quickest first. */
const BUDGET_MS = 60_000;
/** A mutant may be slower than the code itself, and the machine busier than when that was measured. */
const limitMs = (ms) => 20_000 + 6 * ms;
const NO_END = 'no end';
const LONGEST_FILE_MS = 600_000;
/** How many test files run at once. */
const SIDE_BY_SIDE = 2;

/** Other words for people are not another behaviour. */
const wording = {
  shouldIgnore({ node: { type, key, callee } }) {
    const isText = type === 'ObjectProperty' && ['description', 'summary'].includes(key.name);
    const isLog = type === 'CallExpression' && callee.object?.name === 'log';
    return isText || isLog ? 'words' : undefined;
  },
};
const OPTIONS = { excludedMutations: ['StringLiteral'], ignorers: [wording], plugins: null, noHeader: true };

/** At the end of each source with mutants. */
const SWITCH = readText(__dirname, 'switch.cjs');
const say = (line) => process.stderr.write(`${line}\n`);
const print = (line) => process.stdout.write(`${line}\n`);
const isIn = (file, folder) => file === folder || file.startsWith(`${folder}/`);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** Copies the repository with the mutants of a folder in its sources. Returns the mutants, and a hash of all code. */
async function makeTree(tree, folder) {
  const list = execFileSync('git', ['-C', ROOT, 'ls-files', '-co', '--exclude-standard'], {
    encoding: 'utf8',
  });
  const files = list.split('\n').filter((file) => file !== '' && fs.existsSync(join(ROOT, file)));
  for (const file of files) fs.cpSync(join(ROOT, file), join(tree, file));
  for (const name of ['node_modules', 'test/ai-sdk/node_modules'])
    fs.symlinkSync(join(ROOT, name), join(tree, name));
  const code = files.filter((file) => /^(src|workflows|activities)\/.*\.ts$/.test(file));
  const sources = code
    .filter((file) => isIn(file, folder) && !file.endsWith('index.ts'))
    .map((name) => ({ name, mutate: true, content: readText(ROOT, name) }));
  if (sources.length === 0) throw new Error(`${folder} has no sources.`);
  const load = (name) => import(createRequire(join(__dirname, 'package.json')).resolve(name));
  const { createInstrumenter } = await load('@stryker-mutator/instrumenter');
  const { createInjector } = await load('typed-inject');
  const silent = new Proxy({}, { get: () => () => false });
  const instrumenter = createInjector().provideValue('logger', silent).injectFunction(createInstrumenter);
  const made = await instrumenter.instrument(sources, OPTIONS);
  for (const { name, content } of made.files) fs.writeFileSync(join(tree, name), `${content}\n${SWITCH}`);
  const mutants = made.mutants.filter(({ status }) => status !== 'Ignored').map(describeMutant);
  return { mutants, codeHash: sha256(code.map((file) => readText(tree, file)).join()) };
}

function describeMutant({ id, fileName: file, location: { start, end }, replacement }) {
  const oneLine = (code) => code.replace(/\s+/g, ' ').trim();
  const lines = readText(ROOT, file).split('\n');
  const line = lines[start.line];
  lines[end.line] = lines[end.line].slice(0, end.column);
  lines[start.line] = lines[start.line].slice(start.column);
  const original = oneLine(lines.slice(start.line, end.line + 1).join('\n'));
  return { id, file, at: start.line + 1, line, original, replacement: oneLine(replacement) };
}

/** What jest reads in the tree: the project of the server tests, for all files. */
function writeConfig(tree) {
  const { projects, testTimeout } = require(join(tree, 'jest.config.js'));
  const server = projects.find(({ displayName }) => displayName === 'server');
  // Temporal's servers are found once, for all runs.
  const { displayName, globalSetup, globalTeardown, setupFilesAfterEnv, ...shared } = server;
  const config = {
    ...shared,
    rootDir: tree,
    testTimeout,
    testMatch: ['<rootDir>/test/**/*.test.ts'],
    testPathIgnorePatterns: [],
    setupFilesAfterEnv: ['<rootDir>/test/mutants/note-tests.cjs', ...setupFilesAfterEnv],
  };
  fs.writeFileSync(join(tree, 'mutants.json'), JSON.stringify(config));
}

const running = new Set();

/** Ends a process with its group, to which Temporal's servers belong. */
function endGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Runs the tests of a file, or some of them, in a new process. Returns which passed, and one that failed. */
async function runTests(tree, { file, names = [], mutant = 'none', log = '' }, withinMs) {
  const report = join(tree, `${randomUUID()}.report`);
  const escaped = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const chosen = names.length === 0 ? [] : ['--testNamePattern', `^(${escaped.join('|')})$`];
  const how = ['--config', 'mutants.json', '--runInBand', '--silent', '--json', '--outputFile', report];
  const args = [join(ROOT, 'node_modules/jest/bin/jest.js'), ...how, ...chosen, '--runTestsByPath', file];
  const env = { ...process.env, VIDEOGEN_MUTANT: mutant, VIDEOGEN_REACHED: log };
  const child = spawn(process.execPath, args, { cwd: tree, env, stdio: 'ignore', detached: true });
  running.add(child);
  const timer = setTimeout(() => endGroup(child), withinMs);
  await once(child, 'close');
  clearTimeout(timer);
  endGroup(child);
  running.delete(child);
  if (!fs.existsSync(report)) return { passed: [], failed: NO_END };
  const [{ assertionResults, message }] = JSON.parse(readText(report)).testResults;
  const failed = assertionResults.find(({ status }) => status === 'failed')?.fullName ?? message;
  const passed = assertionResults.filter(({ status }) => status === 'passed');
  return { passed, failed: failed.trim().split('\n')[0] || undefined };
}

/** Works on the items side by side. */
async function sideBySide(items, work) {
  const queue = [...items];
  const takeNext = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, takeNext));
}

/** The tests of a folder: which mutants each reaches, and how long it takes. Kept for as long as the code stays the same. */
async function readTests(tree, folder, codeHash) {
  const room = Object.keys(TESTS).find((one) => isIn(folder, one)) ?? folder;
  const files = (TESTS[room] ?? [room.split('/')[1]])
    .map((name) => join('test', name))
    .filter((path) => fs.existsSync(join(tree, path)))
    .flatMap((path) => fs.readdirSync(join(tree, path), { recursive: true }).map((name) => join(path, name)))
    .filter((file) => file.endsWith('.test.ts') && !LEFT_OUT.test(file));
  const all = [];
  fs.mkdirSync(CACHE, { recursive: true });
  await sideBySide(files, async (file) => {
    const known = join(CACHE, `${sha256(codeHash + file + readText(tree, file))}.whole.json`);
    const isKnown = fs.existsSync(known);
    const { tests, failed } = isKnown ? JSON.parse(readText(known)) : await seeTests(tree, file);
    // What failed may have met a busy machine: the next run sees it again.
    if (!isKnown && !failed) fs.writeFileSync(known, JSON.stringify({ tests }));
    all.push(...tests);
  });
  return all;
}

/** A test that fails without a mutant would kill all of them, and is left out. */
async function seeTests(tree, file) {
  const log = join(tree, `${sha256(file)}.log`);
  fs.writeFileSync(log, '');
  const startedAt = Date.now();
  const { passed, failed } = await runTests(tree, { file, log }, LONGEST_FILE_MS);
  const tookMs = Date.now() - startedAt;
  say(`${file}: ${passed.length} tests, ${tookMs} ms${failed ? `; without a mutant fails: ${failed}` : ''}`);
  // Under '', what modules reach as they load, and hooks.
  const byTest = { '': [] };
  let test = '';
  for (const line of readText(log).split('\n').slice(0, -1)) {
    if (line.startsWith('test ')) test = line.slice('test '.length);
    byTest[test] ??= [];
    if (!line.startsWith('test ')) byTest[test].push(line);
  }
  const sharedMs = passed.reduce((left, { duration }) => left - duration, tookMs) / passed.length;
  const tests = passed.map(({ fullName: name, duration }) => {
    const reached = [...new Set([...byTest[''], ...(byTest[name] ?? [])])];
    return { file, name, ms: duration + sharedMs, reached };
  });
  return { tests, failed };
}

/** A test kills a mutant if it fails with it, passes without it, and fails with it again. */
async function findKiller(tree, tests, mutant) {
  const reaching = tests.filter(({ reached }) => reached.includes(mutant)).sort((a, b) => a.ms - b.ms);
  let leftMs = BUDGET_MS;
  const byFile = new Map();
  for (const { file, name, ms } of reaching) {
    const { names = [], tookMs = 0 } = byFile.get(file) ?? {};
    leftMs -= ms;
    if (leftMs >= 0) byFile.set(file, { names: [...names, name], tookMs: tookMs + ms });
  }
  for (const [file, { names, tookMs }] of byFile) {
    const failWith = async (active) =>
      (await runTests(tree, { file, names, mutant: active }, limitMs(tookMs))).failed;
    const failed = await failWith(mutant);
    if (failed === undefined || (await failWith()) !== undefined) continue;
    if (failed === NO_END || (await failWith(mutant)) !== undefined)
      return { isKilled: true, by: `${file}: ${failed}` };
  }
  return reaching.length === 0 ? { by: 'no test reaches it' } : {};
}

/** Explanations name no lines, which move, but may quote theirs: `true` alone stands in many places. */
const isSame = (explained, mutant) =>
  ['file', 'original', 'replacement'].every((field) => explained[field] === mutant[field]) &&
  mutant.line.includes(explained.in ?? '');

/** The survivors, the explanations that explain nothing any more, and the row of docs/proof.md. */
function report(folder, mutants, results) {
  const explained = JSON.parse(readText(__dirname, 'explained.json'));
  const survivors = results
    .filter(({ isKilled }) => !isKilled)
    .map((mutant) => ({ ...mutant, why: explained.find((one) => isSame(one, mutant))?.why }))
    .sort((a, b) => a.file.localeCompare(b.file) || a.at - b.at);
  const stale = explained.filter(
    (one) => isIn(one.file, folder) && !mutants.some((mutant) => isSame(one, mutant)),
  );
  for (const { file, at, original, replacement, by, why } of survivors)
    print([`${file}:${at}`, `- ${original}`, `+ ${replacement}`, by, why].filter(Boolean).join('\n  '));
  for (const one of stale) print(`explains nothing: ${JSON.stringify(one)}`);
  const killed = results.length - survivors.length;
  const score = `${Math.round((killed / results.length) * 1_000) / 10} %`;
  const known = survivors.filter(({ why }) => why !== undefined).length;
  print('| Folder | Mutants | Tried | Killed | Score | Survived and explained |');
  print(`| \`${folder}\` | ${mutants.length} | ${results.length} | ${killed} | ${score} | ${known} |`);
}

async function measure(folder, { sample, seed }, scratch) {
  const tree = join(scratch, folder.replaceAll('/', '-'));
  const { mutants, codeHash } = await makeTree(tree, folder);
  execFileSync(process.execPath, ['scripts/compile.cjs'], { cwd: tree, stdio: 'inherit' });
  require(join(tree, 'test/support/run-typescript.cjs'));
  await require(join(tree, 'test/support/global-setup.ts')).default();
  writeConfig(tree);
  const rank = ({ id, ...mutant }) => sha256(seed + JSON.stringify(mutant));
  const ranked = mutants.map((mutant) => ({ ...mutant, rank: rank(mutant) }));
  const chosen = ranked.sort((a, b) => a.rank.localeCompare(b.rank)).slice(0, Number(sample));
  const tests = await readTests(tree, folder, codeHash);
  const results = [];
  await sideBySide(chosen, async (mutant) => {
    const result = { ...mutant, ...(await findKiller(tree, tests, mutant.id)) };
    results.push(result);
    const { isKilled, file, at, by = '' } = result;
    say(`${results.length} of ${chosen.length}: ${isKilled ? 'killed' : 'survived'} ${file}:${at} ${by}`);
  });
  report(folder, mutants, results);
}

async function main() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string', multiple: true, default: Object.keys(TESTS) },
      sample: { type: 'string', default: '200' },
      seed: { type: 'string', default: '7' },
    },
  });
  if (!/^[1-9]\d*$/.test(values.sample))
    throw new Error(`--sample is ${values.sample}: give a number, such as 200.`);
  // Its packages are not among the project's, so that `npm ci` stays quick.
  if (!fs.existsSync(join(__dirname, 'node_modules')))
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: __dirname, stdio: 'inherit' });
  const scratch = fs.mkdtempSync(join(tmpdir(), 'videogen-mutants-'));
  process.env.TMPDIR = scratch;
  process.on('exit', () => {
    for (const child of running) endGroup(child);
    fs.rmSync(scratch, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
  for (const folder of values.folder) await measure(folder.replace(/\/$/, ''), values, scratch);
}

void main();
