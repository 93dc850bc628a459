// Plays many more scripts than the suite does: `npm run model -- --scripts 50000 --seed 7`.
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

const { values } = parseArgs({
  options: {
    scripts: { type: 'string', default: '10000' },
    // Of batches; each has several items.
    batches: { type: 'string', default: '200' },
    seed: { type: 'string', default: 'fox' },
  },
});

for (const name of ['scripts', 'batches']) {
  if (/^[1-9]\d*$/.test(values[name])) continue;
  process.stderr.write(`--${name} is ${values[name]}: give a number, such as 50000.\n`);
  process.exit(2);
}

const jest = join(__dirname, '../../node_modules/jest/bin/jest.js');
const { status } = spawnSync(
  process.execPath,
  [jest, '--selectProjects', 'server', '--testPathPatterns', 'test/model/model.test.ts'],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      VIDEOGEN_MODEL_SCRIPTS: values.scripts,
      VIDEOGEN_MODEL_BATCHES: values.batches,
      VIDEOGEN_SEED: values.seed,
    },
  },
);
process.exitCode = status ?? 1;
