// Breaks videos of every container in many ways and inspects them. No inspection may take long or much memory, and a second
// reader must find a picture in each accepted video. FILES=10000 SEED=7 npm run fuzz:video
const { spawnSync } = require('node:child_process');
const { randomInt } = require('node:crypto');
const { join } = require('node:path');

const { FILES = '10000', SEED = String(randomInt(2 ** 31)) } = process.env;
const jest = join(__dirname, '../node_modules/jest/bin/jest.js');
const { status } = spawnSync(
  process.execPath,
  [jest, 'test/media/fuzz-video.test.ts', '--selectProjects', 'pure'],
  {
    cwd: join(__dirname, '..'),
    env: { ...process.env, FILES, SEED },
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
