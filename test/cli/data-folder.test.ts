import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDataFolder } from '../../src/cli/data-folder';
import { ConfigError } from '../../src/config/service-config';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'videogen-data-')), 'data');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('a new data folder is private to its user, and an existing one becomes private with its files', async () => {
  await makeDataFolder(join(folder, 'new'));
  expect(modeOf(join(folder, 'new'))).toBe('700');

  const old = join(folder, 'old');
  mkdirSync(join(old, 'stack.running'), { recursive: true });
  for (const name of ['temporal.db', 'temporal.db-wal', 'temporal.db-shm', 'temporal.log']) {
    writeFileSync(join(old, name), '', { mode: 0o644 });
  }
  await makeDataFolder(old);
  expect(modeOf(old)).toBe('700');
  for (const name of ['temporal.db', 'temporal.db-wal', 'temporal.db-shm', 'temporal.log']) {
    expect([name, modeOf(join(old, name))]).toEqual([name, '600']);
  }
});

test('in a folder with other files only our files become private', async () => {
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, 'holiday.jpg'), '', { mode: 0o644 });
  writeFileSync(join(folder, 'temporal.db'), '', { mode: 0o644 });
  await makeDataFolder(folder);
  expect(['', 'holiday.jpg', 'temporal.db'].map((name) => modeOf(join(folder, name)))).toEqual([
    '755',
    '644',
    '600',
  ]);
});

test.each(['what?', 'no #1', '100%25'])(
  'a data folder is refused if the server would misread its path: %s',
  async (name) => {
    const misread = join(folder, name, 'data');
    await expect(makeDataFolder(misread)).rejects.toThrow(
      new ConfigError(
        `The data folder ${misread} has ?, # or % in its path, which the Temporal dev server misreads: ` +
          'set VIDEOGEN_DATA to a folder without them.',
      ),
    );
    expect(existsSync(folder)).toBe(false);
  },
);

test('a data folder that is a file, or inside one, is refused with the name of its variable', async () => {
  writeFileSync(folder, 'mine');
  for (const [path, code] of [
    [folder, 'EEXIST'],
    [join(folder, 'inner'), 'ENOTDIR'],
  ] as const) {
    await expect(makeDataFolder(path)).rejects.toThrow(
      new ConfigError(
        `The data folder ${path} cannot be used (${code}): set VIDEOGEN_DATA to a folder you can write to.`,
      ),
    );
  }
});
