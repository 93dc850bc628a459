// `npm run test:variants`: the server tests under other people's settings, one variant after the other.
// `-- --variant codec` for one, `--workers 2` for a busy machine, and a path pattern for some files.
const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const VARIANTS = require('./variants.cjs');
const { LEFT_OUT } = require('./left-out.cjs');

const ROOT = join(__dirname, '../..');
const SETUP = join(__dirname, 'jest-setup.cjs');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');

const { values, positionals } = parseArgs({
  options: {
    variant: { type: 'string', multiple: true, default: Object.keys(VARIANTS) },
    workers: { type: 'string' },
  },
  allowPositionals: true,
});
function refuse(line) {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}
const unknown = values.variant.find((name) => !Object.hasOwn(VARIANTS, name));
if (unknown !== undefined)
  refuse(`There is no variant ${unknown}: choose among ${Object.keys(VARIANTS).join(', ')}.`);
const rows = Object.values(LEFT_OUT).flat();
const renamed = rows.find(({ file }) => !existsSync(join(ROOT, file)));
if (renamed !== undefined) refuse(`left-out.cjs names ${renamed.file}, which does not exist.`);

function runVariant(name) {
  process.stdout.write(`\n${name}: ${VARIANTS[name].what}\n`);
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-variant-')));
  const external = join(scratch, 'external');
  mkdirSync(external);
  // A worker without a cache replays a job from its beginning for each of its steps.
  const args = [JEST, '--selectProjects', 'server', '--testTimeout', '180000', '--setupFiles', SETUP];
  if (values.workers !== undefined) args.push('--maxWorkers', values.workers);
  if (positionals.length > 0) args.push('--testPathPatterns', positionals.join('|'));
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      TMPDIR: scratch,
      VIDEOGEN_TEST_VARIANT: name,
      VIDEOGEN_TEST_EXTERNAL: external,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${join(__dirname, 'preload.cjs')}`.trim(),
    },
    stdio: 'inherit',
  });
  rmSync(scratch, { recursive: true, force: true });
  for (const { file, test, reason } of LEFT_OUT[name] ?? [])
    process.stdout.write(`left out: ${file}${test ? `, "${test}"` : ''}: ${reason}\n`);
  if (status !== 0) process.exitCode = 1;
  return `${name}: ${status === 0 ? 'passed' : 'failed'}`;
}

process.stdout.write(`\n${values.variant.map(runVariant).join('\n')}\n`);
