import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createVideoActivities } from '../../../activities';
import { type ExtraName, extraKey } from '../../../src/contract/extras';
import { LONGEST_SEGMENT_BYTES } from '../../../src/contract/input-rules';
import { writeMp4 } from '../../../src/media/write-mp4';
import { createFileStorage, createS3Storage, StorageFault, type VideoStorage } from '../../../src/storage';
import { store } from '../../storage/storage-contract';
import { FFMPEG_TIMEOUT_MS, findFfmpeg } from '../../support/ffmpeg';
import { readPng } from '../../support/png';
import { S3_SERVER_TIMEOUT_MS, startS3Server } from '../../support/s3-server';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const BOTH: ExtraName[] = ['poster', 'last-frame'];
const request = { prompt: 'A red fox', resolution: '480p', duration: 1 } as const;

let ffmpeg: string;
let film: Buffer;
let world: ActivityWorld;
let storage: VideoStorage;
beforeAll(async () => {
  ffmpeg = await findFfmpeg();
  film = await writeMp4({
    ...{ width: 64, height: 48, framesPerSecond: 2, frames: 3 },
    draw: (picture, frame) => void picture.data.fill(frame === 2 ? 200 : 60),
  });
}, FFMPEG_TIMEOUT_MS);
beforeEach(async () => {
  world = await createActivityWorld();
  storage = createFileStorage(world.folder);
});
afterEach(() => world.close());

/** A stored video, as the download leaves it. */
async function stored(used: VideoStorage = storage, key = 'fox.mp4') {
  const { uri } = await store(used, key, film, { owner: 'task-1' });
  const video = { uri, bytes: film.length, sha256: sha256Of(film), contentType: 'video/mp4' };
  await used.write(
    `${key}.json`,
    JSON.stringify({ workflowId: 'fox', taskId: 'task-1', video }),
    'application/json',
  );
  return video;
}

interface Given {
  used?: VideoStorage;
  decoder?: string | undefined;
  record?: string;
}

function make(video: Awaited<ReturnType<typeof stored>>, { used = storage, record, ...given }: Given = {}) {
  const decoder = 'decoder' in given ? given.decoder : ffmpeg;
  const { makeExtras } = createVideoActivities({ service: world.service, storage: used, ffmpeg: decoder });
  return world.run(makeExtras, { taskId: 'task-1', video, extras: BOTH, record });
}

/** In place of ffmpeg. */
async function standIn(script: string): Promise<string> {
  const path = join(
    await mkdir(join(world.folder, 'bin'), { recursive: true }).then(() => world.folder),
    'bin/ffmpeg',
  );
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const brightnessOf = (png: Buffer) => readPng(png).rgb[0];

test('both pictures are stored beside the video, and its sidecar names them', async () => {
  const { extras, warnings } = await make(await stored()).result;
  expect(warnings).toEqual([]);
  for (const [name, brighter] of [
    ['poster', false],
    ['last-frame', true],
  ] as const) {
    const png = await readFile(join(world.folder, `fox.mp4.${name}.png`));
    expect(extras[name]).toEqual({
      uri: `${(await stored()).uri}.${name}.png`,
      bytes: png.length,
      sha256: sha256Of(png),
      contentType: 'image/png',
      width: 64,
      height: 48,
    });
    expect(Number(brightnessOf(png)) > 150).toBe(brighter);
  }
});

test('its sidecar names them, and one of another job stays as it is', async () => {
  const video = await stored();
  const { extras } = await make(video).result;
  const sidecar = JSON.parse(await readFile(join(world.folder, 'fox.mp4.json'), 'utf8'));
  expect(sidecar).toEqual({ workflowId: 'fox', taskId: 'task-1', video, extras });
  await writeFile(join(world.folder, 'fox.mp4.json'), '{"taskId":"task-2"}');
  await make(video).result;
  expect(await readFile(join(world.folder, 'fox.mp4.json'), 'utf8')).toBe('{"taskId":"task-2"}');
});

test('without ffmpeg the job keeps its video, and a warning for each picture says what to do', async () => {
  const { extras, warnings } = await make(await stored(), { decoder: undefined }).result;
  const why = 'the worker has no ffmpeg: install it, or name it with VIDEOGEN_FFMPEG, and restart the worker';
  expect({ extras, warnings }).toEqual({
    extras: {},
    warnings: [`the poster was not made: ${why}`, `the last-frame was not made: ${why}`],
  });
});

test('what cannot be decoded is a warning, and so is a video that is gone', async () => {
  const video = await stored();
  const broken = await make(video, { decoder: await standIn('echo "broken\u001b[0m film" >&2; exit 1') })
    .result;
  expect(broken.warnings[0]).toBe('the poster was not made: ffmpeg ended with code 1: broken film');
  const gone = { ...video, uri: video.uri.replace('fox', 'owl') };
  expect((await make(gone).result).warnings[0]).toBe(
    'the poster was not made: the video is no longer in the storage',
  );
});

test('a file of somebody else under the key stays, with a warning', async () => {
  await writeFile(join(world.folder, 'fox.mp4.poster.png'), 'mine');
  const { extras, warnings } = await make(await stored()).result;
  expect(Object.keys(extras)).toEqual(['last-frame']);
  expect(warnings).toEqual([
    expect.stringMatching(/^the poster was not made: the key "fox.mp4.poster.png" is taken/),
  ]);
  expect(await readFile(join(world.folder, 'fox.mp4.poster.png'), 'utf8')).toBe('mine');
});

test('the name of the longest video leaves room for that of its pictures', () => {
  expect(extraKey('x'.repeat(LONGEST_SEGMENT_BYTES), 'last-frame').length).toBeLessThanOrEqual(255);
});

test('an attempt after one that has stored them decodes nothing, and takes what is on record', async () => {
  const { submitVideo, downloadVideo } = world.activities;
  const { taskId, record } = await world.run(submitVideo, { request }).result;
  const { video } = await world.run(downloadVideo, { taskId, record }).result;
  const attempt = (decoder: string) => {
    const { makeExtras } = createVideoActivities({ service: world.service, storage, ffmpeg: decoder });
    return world.run(makeExtras, { taskId, video, extras: BOTH, ...(record && { record }) });
  };
  const made = await attempt(ffmpeg).result;
  const refuses = await standIn('exit 1');
  expect(await attempt(refuses).result).toEqual(made);
  // A file that was changed since is made again.
  await writeFile(join(world.folder, `${basename(video.uri)}.poster.png`), 'no picture');
  expect((await attempt(refuses).result).warnings).toHaveLength(1);
});

test('a storage that fails is tried again', async () => {
  const failing: VideoStorage = {
    ...storage,
    receive: async () => {
      throw new StorageFault('the disk is full');
    },
  };
  const { failure } = await failureOf(make(await stored(), { used: failing }));
  expect(failure).toMatchObject({ type: 'StorageFailed', nonRetryable: false });
});

test('a cancelled attempt ends ffmpeg, and leaves no copy of the video', async () => {
  const copied: VideoStorage = {
    ...storage,
    open: (uri) => storage.open?.(uri.replace('copy:', 'file:')) ?? none(),
  };
  const video = await stored();
  const started = join(world.folder, 'started');
  const attempt = make(
    { ...video, uri: video.uri.replace('file:', 'copy:') },
    {
      used: { ...copied, keyOf: () => 'fox.mp4' },
      decoder: await standIn(`pwd > ${started}; exec sleep 60`),
    },
  );
  const folder = await untilWritten(started);
  expect(await readdir(folder)).toEqual(['video']);
  attempt.cancel();
  await expect(attempt.result).rejects.toThrow();
  expect((await readdir(tmpdir())).includes(basename(folder))).toBe(false);
});

const none = async () => undefined;

async function untilWritten(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return text.trim();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('in S3', () => {
  let server: Awaited<ReturnType<typeof startS3Server>>;
  beforeAll(async () => {
    server = await startS3Server();
  }, S3_SERVER_TIMEOUT_MS);
  afterAll(() => server?.stop());

  test('the video is copied and checked first, and the pictures are objects beside it', async () => {
    const s3 = createS3Storage({ bucket: server.bucket, prefix: 'films', ...server.connection });
    const video = await stored(s3);
    const { extras, warnings } = await make(video, { used: s3 }).result;
    expect(warnings).toEqual([]);
    expect(extras.poster?.uri).toBe(`s3://${server.bucket}/films/fox.mp4.poster.png`);
    const png = Buffer.concat((await (await s3.read('fox.mp4.last-frame.png'))?.toArray()) ?? []);
    expect(sha256Of(png)).toBe(extras['last-frame']?.sha256);
    const other = await make({ ...video, sha256: '0'.repeat(64) }, { used: s3 }).result;
    expect(other.warnings[0]).toBe('the poster was not made: another file is stored in place of the video');
  });
});
