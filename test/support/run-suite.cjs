// `npm test`: lists missing tools, builds, runs types and lint beside all tests, and checks that these left nothing behind.
// Arguments go to jest. With --nightly the tests run at full length with a new seed.
const { spawn } = require('node:child_process');
const { mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { leftIn } = require('./left-behind.cjs');
const { toolsBlock } = require('./tools.cjs');
const installAiSdkPackages = require('./ai-sdk-packages.cjs');

const ROOT = join(__dirname, '../..');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');
const NIGHTLY = '--nightly';

/** Jest warns when one of its processes takes longer than half a second to end. */
const KILLED_WARNING = 'A worker process has failed to exit gracefully';

async function main() {
  const args = process.argv.slice(2);
  process.stdout.write(toolsBlock());
  // Before the types, which need them as much as the tests do: npm must not install twice at once.
  await installAiSdkPackages();
  // The tests need the build alone.
  const checks = inOrder('types', 'lint');
  if (!(await inOrder('build'))) return 1;

  const tests = await runTests(args);
  return (await checks) ? tests : 1;
}

async function runTests(args) {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-run-')));
  try {
    const jest = await run(process.execPath, [JEST, ...args.filter((arg) => arg !== NIGHTLY)], {
      TMPDIR: scratch,
      ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
      ...(args.includes(NIGHTLY) && { VIDEOGEN_NIGHTLY: '1' }),
    });
    const left = await leftIn(scratch);
    // Not a failure: on a busy machine half a second is short, and each file is checked for what it leaves open.
    if (jest.output.includes(KILLED_WARNING)) {
      process.stderr.write('\nJest killed a worker that had not ended half a second after its last test.\n');
    }
    if (left.length > 0) process.stderr.write(`\nThe tests left behind:\n  ${left.join('\n  ')}\n`);
    return left.length > 0 ? 1 : jest.code;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs scripts of package.json in order until one fails. Prints the output of a failed one when it has ended. */
async function inOrder(...scripts) {
  for (const script of scripts) {
    const startedAt = Date.now();
    const { code, output } = await run('npm', ['run', '--silent', script], {}, 'quietly');
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`${code ? 'FAIL' : 'PASS'} npm run ${script} (${seconds} s)\n${code ? output : ''}`);
    if (code) return false;
  }
  return true;
}

function run(program, args, env, how = 'aloud') {
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
        if (how === 'aloud') process[stream].write(chunk);
      });
    }
    child.once('error', reject);
    // A killed process has no code.
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
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
