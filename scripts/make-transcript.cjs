/** Writes the output of `npm start` into the README, between its two markers: `npm run transcript`. */
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const START = '<!-- transcript:start -->';
const END = '<!-- transcript:end -->';

const root = join(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'videogen-transcript-'));
// A shell merges stdout and stderr in the order in which a terminal shows them.
const { output } = spawnSync('sh', ['-c', 'npm start --silent 2>&1'], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, XDG_DATA_HOME: join(folder, 'data'), VIDEOGEN_STORAGE: join(folder, 'videos') },
});
rmSync(folder, { recursive: true, force: true });

const lines = (output[1] ?? '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('npm warn'))
  .map((line) => line.replaceAll(folder, '/…'));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [before, rest] = readme.split(START);
const after = rest.split(END)[1];
const transcript = ['```console', '$ npm ci && npm start', ...lines, '```'].join('\n');
writeFileSync(join(root, 'README.md'), `${before}${START}\n${transcript}\n${END}${after}`);
process.stdout.write(`${transcript}\n`);
