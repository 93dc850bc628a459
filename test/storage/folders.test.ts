import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inFolder } from '../../src/storage/disk-files';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'videogen-folders-'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('a folder that somebody removed is made again', async () => {
  const folder = join(root, 'a/b');
  for (const name of ['first', 'second', 'third']) {
    const file = await inFolder(folder, () => open(join(folder, name), 'wx'));
    await file.close();
    if (name === 'second') await rm(join(root, 'a'), { recursive: true });
  }
});
