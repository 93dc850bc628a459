// `npm run test:repeat`: runs the same tests many times, each time in another order of files, to find those that fail by chance.
const { spawnSync } = require('node:child_process');
const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const { dirname, join, relative } = require('node:path');
const { parseArgs } = require('node:util');
const { LAST_RUN, ROOT } = require('./last-run.cjs');

const USAGE = `npm run test:repeat -- [options]
  --quick N   how often the tests run that need no server and a few seconds at most; 50 if not set
  --rest N    how often the others run; 10 if not set
  --path P    only test files whose path matches

Instead of a number, 21-50 runs only those: what does not fit into one night goes on in the next.
`;

const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');
const REPORT = join(dirname(LAST_RUN), 'repeated.json');
const FILTER = join(__dirname, 'part-of-suite.cjs');
const PARTS = { quick: ['pure'], rest: ['pure', 'server', 'ai-sdk', 'package'] };

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'string', default: '50' },
      rest: { type: 'string', default: '10' },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, quick: runsOf('quick', values.quick), rest: runsOf('rest', values.rest) };
}

function runsOf(name, text) {
  const [, first = '1', last] = /^(?:(\d+)-)?(\d+)$/.exec(text) ?? [];
  if (last === undefined) throw new Error(`--${name} is ${text}: give a number, such as 10, or 21-50.`);
  return { first: Number(first), last: Number(last) };
}

/** One run of some projects: the names of the tests that failed, and how many passed. */
function runOnce(part, path, order) {
  const args = ['--selectProjects', ...PARTS[part], '--filter', FILTER, '--silent'];
  args.push('--json', `--outputFile=${REPORT}`);
  if (path) args.push('--passWithNoTests', '--testPathPatterns', path);
  rmSync(REPORT, { force: true });
  const { status, stderr } = spawnSync(process.execPath, [JEST, ...args], {
    cwd: ROOT,
    env: { ...process.env, VIDEOGEN_TEST_PART: part, VIDEOGEN_TEST_ORDER: order },
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  });
  const { testResults, numPassedTests } = readReport(stderr);
  const failed = testResults.flatMap(({ name, message, status: ended, assertionResults }) => {
    const tests = assertionResults.filter((one) => one.status === 'failed');
    const file = relative(ROOT, name);
    if (tests.length > 0) {
      return tests.map((one) => ({ name: `${file}: ${one.fullName}`, why: one.failureMessages.join('\n') }));
    }
    return ended === 'failed' ? [{ name: file, why: message }] : [];
  });
  // A run that fails although no test did, such as one with skipped tests.
  if (status !== 0 && failed.length === 0) failed.push({ name: 'the run itself', why: stderr.slice(-2_000) });
  return { failed, passed: numPassedTests };
}

function readReport(stderr) {
  try {
    return JSON.parse(readFileSync(REPORT, 'utf8'));
  } catch (error) {
    throw new Error(`jest wrote no report: ${stderr.slice(-2_000)}`, { cause: error });
  }
}

function main() {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  mkdirSync(dirname(REPORT), { recursive: true });
  const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' });
  if (build.status !== 0) return 1;

  const counts = new Map();
  for (const part of Object.keys(PARTS)) {
    const { first, last } = options[part];
    for (let run = first; run <= last; run++) {
      const startedAtMs = Date.now();
      const order = `${part}-${run}`;
      const { failed, passed } = runOnce(part, options.path, order);
      const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
      process.stdout.write(
        `${part} ${run} of ${last}: ${passed} passed, ${failed.length} failed, ${seconds} s\n`,
      );
      for (const { name, why } of failed) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        process.stdout.write(`\n${name} (VIDEOGEN_TEST_ORDER=${order})\n${why}\n\n`);
      }
    }
  }
  const worst = [...counts].sort(([, a], [, b]) => b - a);
  for (const [name, count] of worst) process.stdout.write(`failed ${count} times: ${name}\n`);
  if (worst.length === 0) process.stdout.write('No test failed by chance.\n');
  return worst.length === 0 ? 0 : 1;
}

try {
  process.exitCode = main();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
