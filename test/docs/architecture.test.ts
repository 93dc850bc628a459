import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from '../support/docs-page';
import { filesOfOneVideo, MOST_FILES } from '../support/one-video';

const ROOT = join(__dirname, '../..');
const page = readPage('architecture.md');

test('the page walks one video through few files, each with one sentence', () => {
  const walk = filesOfOneVideo();
  expect(walk.length).toBeLessThanOrEqual(MOST_FILES);
  expect(new Set(walk.map(({ file }) => file)).size).toBe(walk.length);
  for (const { file, sentence } of walk) {
    expect({ file, exists: existsSync(join(ROOT, file)) }).toEqual({ file, exists: true });
    expect(sentence).toMatch(/^[^.]+(\.[a-z]+`[^.]*)?\.$/);
  }
});

test('every room of the house is in the table of folders', () => {
  const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `\`src/${name}\``);
  const table = page.slice(page.indexOf('## Folders'), page.indexOf('## One video'));
  expect(rooms.filter((room) => !table.includes(room))).toEqual([]);
});
