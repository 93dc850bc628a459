import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CopyFailed, checkOut, copyOut } from '../../src/cli/copy-out';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { failureOf } from '../support/world';
import { eventually } from '../temporal-server/eventually';

const BYTES = Buffer.alloc(3_000_000, 'fox');

let folder: string;
let uri: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-copy-'));
  writeFileSync(join(folder, 'a fox.mp4'), BYTES);
  uri = pathToFileURL(join(folder, 'a fox.mp4')).href;
});
afterEach(() => rmSync(folder, { recursive: true }));

const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('without --out the result is the path of the stored video', async () => {
  expect(await copyOut(uri, undefined)).toBe(join(folder, 'a fox.mp4'));
  expect(await copyOut('s3://bucket/fox.mp4', undefined)).toBe('s3://bucket/fox.mp4');
});

test('the copy is complete, its folders are created, and no temporary file remains', async () => {
  const target = join(folder, 'new/folders/fox.mp4');
  expect(await copyOut(uri, relative(process.cwd(), target))).toBe(target);
  expect(readFileSync(target).equals(BYTES)).toBe(true);
  expect(files()).toEqual(['a fox.mp4', 'new', 'new/folders', 'new/folders/fox.mp4']);
});

test('an existing file is replaced', async () => {
  writeFileSync(join(folder, 'old.mp4'), 'old');
  await copyOut(uri, join(folder, 'old.mp4'));
  expect(readFileSync(join(folder, 'old.mp4')).equals(BYTES)).toBe(true);
});

test.each<[string, string, string, (target: string) => void]>([
  ['the folder is a file', 'file/fox.mp4', 'ENOTDIR', () => writeFileSync(join(folder, 'file'), '')],
  ['the video is gone', 'fox.mp4', 'ENOENT', () => rmSync(join(folder, 'a fox.mp4'))],
])(
  'when %s, one sentence says where the video is, and no partial file remains',
  async (_what, out, code, prepare) => {
    const target = join(folder, out);
    prepare(target);
    const before = files();
    const failure = await failureOf(copyOut(uri, target));
    expect(failure).toBeInstanceOf(CopyFailed);
    expect(exitCodeOf(failure)).toBe(15);
    expect(String(failure)).toContain(
      `The video is at ${join(folder, 'a fox.mp4')}, but could not be copied to ${target}: ${code}:`,
    );
    expect(files()).toEqual(before);
  },
);

test('when the folder cannot be created, the video file is closed', async () => {
  const openFiles = () => readdirSync('/dev/fd').length;
  writeFileSync(join(folder, 'file'), '');
  const before = openFiles();
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await failureOf(copyOut(uri, join(folder, 'file/fox.mp4')));
  }
  await eventually('all closed', () => openFiles() <= before);
});

test.each<[string, (target: string) => unknown]>([
  ['a folder', (target) => mkdirSync(target)],
  ['a FIFO', (target) => execFileSync('mkfifo', [target])],
  ['a link to a file', (target) => symlinkSync(join(folder, 'a fox.mp4'), target)],
  ['a link to nothing', (target) => symlinkSync(join(folder, 'nothing'), target)],
])('%s is never replaced, and is refused before anything is generated', async (_what, make) => {
  const target = join(folder, 'taken');
  make(target);
  const before = lstatSync(target).ino;
  for (const refusal of [await failureOf(copyOut(uri, target)), await failureOf(checkOut(target))]) {
    expect(refusal).toBeInstanceOf(CopyFailed);
    expect(String(refusal)).toContain(`${target} exists and is not a regular file`);
  }
  expect(lstatSync(target).ino).toBe(before);
  expect(files()).toEqual(['a fox.mp4', 'taken']);
});

test('a link with a predictable temporary name is not followed', async () => {
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, join(folder, `fox.mp4.${process.pid}.part`));
  await copyOut(uri, join(folder, 'fox.mp4'));
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(lstatSync(join(folder, 'fox.mp4')).isFile()).toBe(true);
});
