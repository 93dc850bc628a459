import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readImageFile } from '../../src/cli/generate';
import { run } from '../../src/cli/run';
import { FAILURES } from '../../src/contract/failure-table';
import { HTML, PNG, sha256Of, TOO_LARGE_PNG } from '../support/images';
import { FakeTerminal } from './fake-terminal';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-image-file-'));
  writeFileSync(join(folder, 'fox.png'), PNG);
  writeFileSync(join(folder, 'page.png'), HTML);
  writeFileSync(join(folder, 'large.png'), TOO_LARGE_PNG());
  writeFileSync(join(folder, '\x1b[2J.png'), '');
  mkdirSync(join(folder, 'folder.png'));
  execFileSync('mkfifo', [join(folder, 'pipe.png')]);
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['a file that is not there', 'none.png', /none\.png cannot be read: ENOENT/],
  ['a folder', 'folder.png', /folder\.png is not a file/],
  ['a pipe', 'pipe.png', /pipe\.png is not a file/],
  ['a file that is no image', 'page.png', /page\.png is not a PNG, JPEG, WebP or GIF image/],
  ['a file that is too large', 'large.png', /large\.png is larger than 20 MB/],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
  ['a hostile name', '\x1b[2J.png', /^[^\x1b]*is not a PNG/],
])(
  '--image with %s is refused with one sentence and the code of a bad request',
  async (_what, name, sentence) => {
    const terminal = new FakeTerminal({ VIDEOGEN_STORAGE: join(folder, 'videos') });
    expect(await run(['generate', 'A fox', '--image', join(folder, name)], terminal)).toBe(2);
    expect(terminal.stderr.trim().split('\n')).toHaveLength(1);
    expect(terminal.stderr).toMatch(sentence);
    expect(readdirSync(folder)).not.toContain('videos');
  },
);

test('--image and --image-url exclude each other', async () => {
  const given = { image: join(folder, 'fox.png'), imageUrl: 'https://example.com/fox.png' };
  await expect(readImageFile(given)).rejects.toThrow('give either --image or --image-url, not both');
});

test('an image belongs to the command line, whose name no gateway key can have', async () => {
  const image = await readImageFile({ image: join(folder, 'fox.png') });
  expect(image?.url).toBe(`videogen-image:_cli/${sha256Of(PNG)}.png`);
});

test('a storage that cannot be written to fails the command with its own code', async () => {
  const terminal = new FakeTerminal({ VIDEOGEN_STORAGE: join(folder, 'fox.png') });
  expect(await run(['generate', 'A fox', '--image', join(folder, 'fox.png')], terminal)).toBe(
    FAILURES.StorageFailed.exitCode,
  );
});
