// Feeds everything that others may feed for longer than the suite does: `npm run fuzz -- --minutes 60 --target answers`.
const { spawnSync } = require('node:child_process');
const { randomInt } = require('node:crypto');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // The name of one target, as in test/fuzz/targets.ts.
    target: { type: 'string', default: '' },
  },
});

for (const [name, example] of Object.entries({ minutes: '60', seed: '7' })) {
  if (/^\d+(\.\d+)?$/.test(values[name])) continue;
  process.stderr.write(`--${name} is ${values[name]}: give a number, such as ${example}.\n`);
  process.exit(2);
}

process.stderr.write(`seed ${values.seed}\n`);
const jest = join(__dirname, '../../node_modules/jest/bin/jest.js');
const { status } = spawnSync(
  process.execPath,
  [jest, '--selectProjects', 'pure', '--testPathPatterns', 'test/fuzz/fuzz.test.ts'],
  {
    cwd: join(__dirname, '../..'),
    stdio: 'inherit',
    env: {
      ...process.env,
      VIDEOGEN_FUZZ_MINUTES: values.minutes,
      VIDEOGEN_FUZZ_SEED: values.seed,
      VIDEOGEN_FUZZ_TARGET: values.target,
    },
  },
);
process.exitCode = status ?? 1;
