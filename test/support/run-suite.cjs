// `npm test`: builds, runs types and lint beside all tests, and checks that these left nothing behind.
// Arguments go to jest. With --nightly the tests run at full length with a new seed.
const { spawn } = require('node:child_process');
const { mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { leftIn } = require('./left-behind.cjs');

const ROOT = join(__dirname, '../..');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');
const NIGHTLY = '--nightly';

/** Whoever watches sees that it goes on, and a machine that ends silent programs lets it. */
const LONGEST_SILENCE_MS = 10_000;
const startedAtMs = Date.now();
const running = new Set();
let lastOutputAtMs = Date.now();

async function main() {
  const args = process.argv.slice(2);
  setInterval(sayThatItGoesOn, 1_000).unref();
  // Before the types, which need them as much as the tests do: npm must not install twice at once.
  await run('packages of the AI SDK', process.execPath, [join(__dirname, 'ai-sdk-packages.cjs')]);
  // The tests need the build alone.
  const checks = inOrder('types', 'lint');
  if (!(await inOrder('build'))) return 1;

  const tests = await runTests(args);
  return (await checks) ? tests : 1;
}

async function runTests(args) {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-run-')));
  try {
    const { code } = await run('tests', process.execPath, [JEST, ...args.filter((arg) => arg !== NIGHTLY)], {
      TMPDIR: scratch,
      ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
      ...(args.includes(NIGHTLY) && { VIDEOGEN_NIGHTLY: '1' }),
    });
    const left = await leftIn(scratch);
    if (left.length > 0) process.stderr.write(`\nThe tests left behind:\n  ${left.join('\n  ')}\n`);
    return left.length > 0 ? 1 : code;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs scripts of package.json in order until one fails. Prints the output of a failed one when it has ended. */
async function inOrder(...scripts) {
  for (const script of scripts) {
    const startedAt = Date.now();
    const { code, output } = await run(script, 'npm', ['run', '--silent', script], {}, 'quietly');
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
    say(`${code ? 'FAIL' : 'PASS'} npm run ${script} (${seconds} s)\n${code ? output : ''}`);
    if (code) return false;
  }
  return true;
}

function sayThatItGoesOn() {
  if (Date.now() - lastOutputAtMs < LONGEST_SILENCE_MS) return;
  const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
  say(`After ${seconds} s, still running: ${[...running].join(', ')}.\n`);
}

function say(text, stream = process.stdout) {
  lastOutputAtMs = Date.now();
  stream.write(text);
}

function run(name, program, args, env = {}, how = 'aloud') {
  running.add(name);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['inherit', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && program === 'npm',
    });
    let output = '';
    for (const stream of ['stdout', 'stderr']) {
      child[stream].on('data', (chunk) => {
        output += chunk;
        if (how === 'aloud') say(chunk, process[stream]);
      });
    }
    child.once('error', reject);
    child.once('close', (code) => {
      running.delete(name);
      // A killed process has no code.
      resolve({ code: code ?? 1, output });
    });
  });
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
