import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { VideoGone, type VideoToRead, withLocalVideo } from '../../../activities/extras/local-video';
import type { VideoStorage } from '../../../src/storage';
import { sha256Of } from '../../support/images';

const FILM = Buffer.from('a film of a red fox');
const VIDEO = {
  uri: 's3://videos/fox.mp4',
  bytes: FILM.length,
  sha256: sha256Of(FILM),
  contentType: 'video/mp4',
};
const HOUR_MS = 3_600_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-local-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const storing = (bytes: Buffer | undefined) =>
  ({
    open: async () => bytes && Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]),
  }) as object as VideoStorage;

/** What the work finds, and the folder that it may use. */
async function read(
  storage: VideoStorage,
  video: VideoToRead = VIDEO,
  signal = new AbortController().signal,
) {
  return withLocalVideo(storage, video, signal, async ({ path, container }, used) => ({
    path,
    container,
    used,
    bytes: await readFile(path),
  }));
}
const isThere = (path: string) => readdir(dirname(path)).then((names) => names.includes(basename(path)));

test('a video of another storage is copied, and the copy is removed with the work', async () => {
  const { path, used, ...found } = await read(storing(FILM));
  expect(found).toEqual({ container: 'mp4', bytes: FILM });
  expect(dirname(path)).toBe(used);
  expect(await isThere(used)).toBe(false);
});

test('the copy is removed when the work fails', async () => {
  let used = '';
  const failing = withLocalVideo(
    storing(FILM),
    VIDEO,
    new AbortController().signal,
    async (_local, given) => {
      used = given;
      throw new Error('no frame');
    },
  );
  await expect(failing).rejects.toThrow('no frame');
  expect(await isThere(used)).toBe(false);
});

test('a video in a folder is read where it is, and stays there', async () => {
  const path = join(folder, 'fox.mp4');
  await writeFile(path, FILM);
  const stream = Readable.from([FILM]);
  const storage = { open: async () => stream } as object as VideoStorage;
  const found = await read(storage, { ...VIDEO, uri: pathToFileURL(path).href });
  expect(found.path).toBe(path);
  expect(stream.destroyed).toBe(true);
  expect(await readFile(path)).toEqual(FILM);
});

test.each<[string, VideoStorage, string]>([
  ['it is gone', storing(undefined), 'the video is no longer in the storage'],
  ['the storage cannot be read', {} as VideoStorage, 'the video is no longer in the storage'],
  [
    'another file of its length is there',
    storing(Buffer.alloc(FILM.length)),
    'another file is stored in place',
  ],
  ['a longer file is there', storing(Buffer.concat([FILM, FILM])), 'another file is stored in place'],
  ['half of it is there', storing(FILM.subarray(0, 9)), 'another file is stored in place'],
])('nothing is made of a video when %s', async (_what, storage, reason) => {
  const failed = read(storage);
  await expect(failed).rejects.toThrow(VideoGone);
  await expect(failed).rejects.toThrow(reason);
});

test('of a file that is much longer than the video only the beginning is read', async () => {
  let chunks = 0;
  const film = async function* () {
    for (; chunks < 1_000; chunks++) yield FILM;
  };
  const storage = { open: async () => Readable.from(film()) } as object as VideoStorage;
  await expect(read(storage)).rejects.toThrow('another file is stored in place');
  expect(chunks).toBeLessThan(100);
});

test('work may remove its folder by itself', async () => {
  const { signal } = new AbortController();
  const work = (_local: unknown, used: string) => rm(used, { recursive: true });
  await expect(withLocalVideo(storing(FILM), VIDEO, signal, work)).resolves.toBeUndefined();
});

test('a missing folder for temporary files is named', async () => {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = join(folder, 'missing');
  const failed = expect(read(storing(FILM))).rejects.toThrow(/ENOENT.*missing/);
  await failed.finally(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
});

test('what disappears while stale folders are looked for is skipped', async () => {
  const path = join(tmpdir(), `videogen-extras-gone${process.pid}`);
  await symlink(join(folder, 'gone'), path);
  expect(await read(storing(FILM)).finally(() => rm(path))).toMatchObject({ bytes: FILM });
});

test('nothing is made of what is not a video', async () => {
  await expect(read(storing(FILM), { ...VIDEO, contentType: 'text/plain' })).rejects.toThrow(
    'nothing can be decoded of text/plain',
  );
});

test('a cancelled copy ends', async () => {
  await expect(read(storing(FILM), VIDEO, AbortSignal.abort())).rejects.toThrow('abort');
});

test('what killed workers left a day ago is removed, and nothing else', async () => {
  const made = ['videogen-extras-old', 'videogen-extras-new', 'fox-videogen-extras-'].map((name) =>
    join(tmpdir(), `${name}${process.pid}${name.endsWith('-') ? 'videogen-extras-' : ''}`),
  );
  const [old = '', recent = '', other = ''] = made;
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS);
  for (const [path, hours] of [
    [old, 25],
    [recent, 23],
    [other, 25],
  ] as const) {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'video'), FILM);
    await utimes(path, hoursAgo(hours), hoursAgo(hours));
  }
  await read(storing(FILM));
  expect([await isThere(old), await isThere(recent), await isThere(other)]).toEqual([false, true, true]);
  for (const path of made) await rm(path, { recursive: true, force: true });
});
