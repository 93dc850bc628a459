// `npm test`: which tools are missing; types, lint and build; all tests; and whether they left anything behind. What is given
// to it is given to jest. With --nightly the tests go to their full length and take their chances anew.
const { spawn } = require('node:child_process');
const { mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { leftIn } = require('./left-behind.cjs');
const { toolsBlock } = require('./tools.cjs');

const ROOT = join(__dirname, '../..');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');
const NIGHTLY = '--nightly';

/** Jest only warns of it: a test has left something open that keeps its process from ending. */
const HAD_TO_BE_KILLED = 'A worker process has failed to exit gracefully';

async function main() {
  const given = process.argv.slice(2);
  process.stdout.write(toolsBlock());
  // Two chains, as there are two cores at least: each has one thing to do at a time.
  const checks = await Promise.all([inOrder('types'), inOrder('build', 'lint')]);
  if (checks.includes(false)) return 1;

  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-run-')));
  try {
    const jest = await run(process.execPath, [JEST, ...given.filter((arg) => arg !== NIGHTLY)], {
      TMPDIR: scratch,
      ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
      ...(given.includes(NIGHTLY) && { VIDEOGEN_NIGHTLY: '1' }),
    });
    const left = await leftIn(scratch);
    if (jest.output.includes(HAD_TO_BE_KILLED)) {
      left.push('a jest worker that had to be killed: a file in it leaves something open');
    }
    if (left.length > 0) process.stderr.write(`\nThe tests have left behind:\n  ${left.join('\n  ')}\n`);
    return left.length > 0 ? 1 : jest.code;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs scripts of package.json one after the other up to the first that fails; what each says is shown when it has ended. */
async function inOrder(...scripts) {
  for (const script of scripts) {
    const begun = Date.now();
    const { code, output } = await run('npm', ['run', '--silent', script], {}, 'quietly');
    const seconds = ((Date.now() - begun) / 1_000).toFixed(1);
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
    // One that was killed has no code.
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
