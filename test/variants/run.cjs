// `npm run test:variants`: the server tests under other people's settings, one variant after the other.
// `-- --variant codec` for one, `--workers 2` for a busy machine, and a path pattern for some files.
const { spawn } = require('node:child_process');
const { mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const VARIANTS = require('./variants.cjs');
const { LEFT_OUT } = require('./left-out.cjs');

const ROOT = join(__dirname, '../..');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');

async function main() {
  const { values, positionals } = parseArgs({
    options: { variant: { type: 'string', multiple: true }, workers: { type: 'string' } },
    allowPositionals: true,
  });
  const names = values.variant ?? Object.keys(VARIANTS);
  const unknown = names.find((name) => !Object.hasOwn(VARIANTS, name));
  if (unknown !== undefined) {
    process.stderr.write(
      `There is no variant ${unknown}: choose among ${Object.keys(VARIANTS).join(', ')}.\n`,
    );
    return 2;
  }
  const results = [];
  for (const name of names) results.push(await runVariant(name, positionals, values.workers));
  process.stdout.write(`\n${results.map(({ line }) => line).join('\n')}\n`);
  return results.every(({ ok }) => ok) ? 0 : 1;
}

async function runVariant(name, patterns, workers) {
  process.stdout.write(`\n${name}: ${VARIANTS[name].what}\n`);
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-variant-')));
  try {
    const external = mkdtempSync(join(scratch, 'external-'));
    // A worker without a cache replays a job from its beginning for each of its steps.
    const patience = ['--testTimeout', '180000'];
    const processes = workers === undefined ? [] : ['--maxWorkers', workers];
    const paths = patterns.length > 0 ? ['--testPathPatterns', patterns.join('|')] : [];
    const { code, output } = await run(
      [JEST, '--selectProjects', 'server', ...patience, ...processes, ...paths],
      {
        TMPDIR: scratch,
        VIDEOGEN_TEST_VARIANT: name,
        VIDEOGEN_TEST_EXTERNAL: external,
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${join(__dirname, 'preload.cjs')}`.trim(),
      },
    );
    for (const { file, test, reason } of LEFT_OUT[name] ?? []) {
      process.stdout.write(`left out: ${file}${test ? `, "${test}"` : ''}: ${reason}\n`);
    }
    const counts = output.match(/^\d+ passed, \d+ failed$/gm)?.at(-1) ?? 'did not run';
    return { ok: code === 0, line: `${name}: ${counts}` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function run(args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['inherit', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of ['stdout', 'stderr']) {
      child[stream].on('data', (chunk) => {
        output += chunk;
        process[stream].write(chunk);
      });
    }
    child.once('error', reject);
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
