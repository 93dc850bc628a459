import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createMakeExtras,
  type MakeExtrasDeps,
  type MakeExtrasInput,
} from '../../../activities/extras/make-extras';
import type { StoredExtras } from '../../../src/contract/extras';
import type { StoredVideo } from '../../../src/contract/job';
import { readRecord, recordKey, type StoredRecord, writeRecord } from '../../../src/retention';
import { createFileStorage, StorageFault, type VideoStorage } from '../../../src/storage';
import { PNG, sha256Of } from '../../support/images';
import { recordsIn } from '../../support/stored-files';
import { eventsIn, failureOf, startAttempt } from '../activity-world';

const RECORD = '0123456789abcdef';
const KEY = 'fox.mp4';

let folder: string;
let storage: VideoStorage;
let video: StoredVideo;
let reported: unknown[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-make-extras-'));
  storage = createFileStorage(folder);
  reported = [];
  const film = Buffer.from('a film of a red fox');
  const path = join(folder, KEY);
  const { href: uri } = pathToFileURL(path);
  video = { uri, bytes: film.length, sha256: sha256Of(film), contentType: 'video/mp4' };
  await writeFile(path, film);
  await writeFile(`${path}.json`, JSON.stringify({ taskId: 'task-1', video }));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** In place of ffmpeg: every frame is this picture. */
async function decoderOf(picture: Buffer): Promise<string> {
  const [path, frame] = [join(folder, 'ffmpeg'), join(folder, 'frame')];
  await writeFile(frame, picture);
  await writeFile(path, `#!/bin/sh\necho 0\ncat '${frame}' >&3\n`);
  await chmod(path, 0o755);
  return path;
}

const run = (input: Partial<MakeExtrasInput> = {}, deps: Partial<MakeExtrasDeps> = {}) =>
  startAttempt(
    createMakeExtras({ storage, ...deps }),
    { taskId: 'task-1', job: 'fox', video, extras: ['poster'], ...input },
    {},
    reported,
  );
const make = async (input: Partial<MakeExtrasInput> = {}, deps: Partial<MakeExtrasDeps> = {}) =>
  run(input, { ffmpeg: await decoderOf(PNG), ...deps }).result;

const onRecord = (record: Partial<StoredRecord> = {}) =>
  writeRecord(storage, recordKey('fox', RECORD), {
    ...{ namespace: 'test', job: 'fox', request: { prompt: 'A red fox' } },
    ...{ state: 'stored', taskId: 'task-1', key: KEY, video: { ...video }, warnings: [], ...record },
  });
const recorded = async () => Object(await readRecord(storage, recordKey('fox', RECORD)));
const sidecar = async () => JSON.parse(await readFile(join(folder, `${KEY}.json`), 'utf8'));
const marks = async () =>
  Promise.all(
    (await recordsIn(folder))
      .filter((file) => file.startsWith(join('jobs', 'expiry')) && file.endsWith('.json'))
      .map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8'))),
  );

/** A picture that an earlier attempt has stored. */
async function storedBefore(name: 'poster' | 'last-frame', bytes = PNG): Promise<StoredExtras> {
  const { uri } = await storage.write(`${KEY}.${name}.png`, bytes, 'image/png');
  const facts = { bytes: bytes.length, sha256: sha256Of(bytes), width: 1, height: 1 };
  return { [name]: { uri, contentType: 'image/png', ...facts } };
}

test('a picture that was made is in the record, in the sidecar and in the log', async () => {
  await onRecord();
  const { extras } = await make({ record: RECORD });
  expect(extras).toEqual({ poster: expect.objectContaining({ sha256: sha256Of(PNG), width: 1 }) });
  expect(await recorded()).toMatchObject({ state: 'stored', taskId: 'task-1', job: 'fox', extras });
  expect(await sidecar()).toEqual({ taskId: 'task-1', video, extras });
  expect(eventsIn(reported)).toMatchObject([
    { event: 'extrasStored', job: 'fox', taskId: 'task-1', extras: ['poster'] },
  ]);
});

test('those on record before stay beside it, and are returned only if they are wanted', async () => {
  const before = await storedBefore('last-frame');
  await onRecord({ extras: before });
  const { extras } = await make({ record: RECORD });
  expect(Object.keys(extras)).toEqual(['poster']);
  expect((await recorded()).extras).toEqual({ ...before, ...extras });
});

test('those on record are not made again, and nothing is written for them', async () => {
  const before = await storedBefore('poster');
  await onRecord({ extras: before });
  expect(await run({ record: RECORD }).result).toEqual({ extras: before, warnings: [] });
  expect(await sidecar()).not.toHaveProperty('extras');
  expect(eventsIn(reported)).toEqual([]);
});

test.each<[string, () => Promise<unknown>]>([
  ['is another file of its length now', () => storedBefore('poster', Buffer.alloc(PNG.length))],
  ['is gone', () => rm(join(folder, `${KEY}.poster.png`))],
])('one on record that %s does not count', async (_what, change) => {
  const before = await storedBefore('poster');
  await onRecord({ extras: before });
  await change();
  const { extras, warnings } = await run({ record: RECORD }).result;
  expect(extras).toEqual({});
  expect(warnings).toEqual([expect.stringContaining('the worker has no ffmpeg')]);
});

test('the pictures on record of a video under another key do not count', async () => {
  await onRecord({ key: 'owl.mp4', extras: await storedBefore('poster') });
  const { extras, warnings } = await run({ record: RECORD }).result;
  expect(extras).toEqual({});
  expect(warnings).toHaveLength(1);
});

test('the record of a video under another key stays as it is', async () => {
  await onRecord({ key: 'owl.mp4' });
  const before = await recorded();
  await make({ record: RECORD });
  expect(await recorded()).toEqual(before);
});

test('a job whose record has no video yet keeps it as it is', async () => {
  const key = recordKey('fox', RECORD);
  await writeRecord(storage, key, { namespace: 'test', job: 'fox', state: 'submitted', taskId: 'task-1' });
  await make({ record: RECORD });
  expect(await recorded()).toMatchObject({ state: 'submitted' });
  expect(await recorded()).not.toHaveProperty('extras');
});

test('an adopted task has no record: none is read, and none is written', async () => {
  const read: VideoStorage['read'] = async (key) => {
    if (key.startsWith('jobs/')) throw new StorageFault('no such record');
    return storage.read(key);
  };
  expect((await make({}, { storage: { ...storage, read } })).warnings).toEqual([]);
  expect(await recordsIn(folder)).toEqual([]);
});

test('a picture that could not be made is logged with its reason, and nothing is written', async () => {
  await onRecord();
  const { warnings } = await run({ record: RECORD }).result;
  expect(warnings).toHaveLength(1);
  expect(eventsIn(reported)).toMatchObject([
    {
      event: 'extrasNotMade',
      ...{ job: 'fox', taskId: 'task-1', extra: 'poster' },
      reason: expect.stringContaining('the worker has no ffmpeg'),
    },
  ]);
  expect(await recorded()).not.toHaveProperty('extras');
});

test('only what was made is logged as stored', async () => {
  await storage.write(`${KEY}.poster.png`, 'a file of somebody else', 'image/png');
  const { extras } = await make({ extras: ['poster', 'last-frame'] });
  expect(Object.keys(extras)).toEqual(['last-frame']);
  expect(eventsIn(reported)).toContainEqual(
    expect.objectContaining({ event: 'extrasStored', extras: ['last-frame'] }),
  );
});

test('a worker that writes no sidecars changes none', async () => {
  await make({}, { sidecar: false });
  expect(await sidecar()).not.toHaveProperty('extras');
});

describe('when the video expires', () => {
  const expiresAt = '2030-01-01T00:00:00.000Z';

  test('the janitor finds the pictures with it', async () => {
    await onRecord();
    await make({ record: RECORD, video: { ...video, expiresAt } });
    expect(await marks()).toEqual([
      { namespace: 'test', job: 'fox', key: KEY, expiresAt, record: RECORD, extras: ['poster'] },
    ]);
  });

  test.each<[string, () => Partial<VideoStorage>, string | undefined]>([
    ['is kept for good', () => storage, undefined],
    ['is in a storage that removes nothing', () => ({ ...storage, list: undefined as never }), expiresAt],
  ])('nothing is noted for one that %s', async (_what, used, until) => {
    await make(
      { video: { ...video, ...(until && { expiresAt: until }) } },
      { storage: used() as VideoStorage },
    );
    expect(await marks()).toEqual([]);
  });
});

test.each<[string, () => Partial<VideoStorage>]>([
  ['knows no keys', () => ({ ...storage, keyOf: undefined as never })],
  ['has the video under none of its keys', () => ({ ...storage, keyOf: () => undefined })],
])('nothing is made in a storage that %s, with a warning for each picture', async (_what, used) => {
  const deps = { storage: used() as VideoStorage };
  expect(await make({ extras: ['poster', 'last-frame'] }, deps)).toEqual({
    extras: {},
    warnings: ['poster', 'last-frame'].map(
      (name) => `the ${name} was not made: the storage does not say under which key the video is`,
    ),
  });
});

test('a storage that fails names the task in the failure', async () => {
  const read = () => Promise.reject(new StorageFault('no answer'));
  const { failure, details } = await failureOf(run({ record: RECORD }, { storage: { ...storage, read } }));
  expect(failure.type).toBe('StorageFailed');
  expect(details).toMatchObject({ taskId: 'task-1' });
});
