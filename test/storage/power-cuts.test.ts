import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { link, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createVideoActivities } from '../../activities';
import { copyOut } from '../../src/cli/copy-out';
import { type ItemResult, resultsKey } from '../../src/contract/batch';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { startEmulator } from '../../src/testing/emulator';
import { startAttempt } from '../activities/activity-world';
import { recordsIn } from '../support/stored-files';
import { disk } from './disk-recorder';
import { partOf, store, VIDEO } from './storage-contract';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('./disk-recorder')>('./disk-recorder')
    .disk.record(jest.requireActual('node:fs/promises')),
);

let folder: string;
let storage: VideoStorage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-power-'));
  storage = createFileStorage(join(folder, 'videos'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  expect(disk.end()).toEqual([]);
});

const inStorage = (key: string) => join(folder, 'videos', key);

test('a published video survives a power cut, in new folders too', async () => {
  await store(storage, 'foxes/red/fox.mp4', VIDEO);
  expect(disk.isSafe(inStorage('foxes/red/fox.mp4'))).toBe(true);
});

test('a small file survives a power cut, and one while it is replaced leaves the old file or the new one', async () => {
  const path = inStorage('jobs/fox.json');
  await storage.write('jobs/fox.json', 'first', 'application/json');
  expect(disk.isSafe(path)).toBe(true);

  let wasGone = false;
  const watched = setInterval(() => {
    wasGone ||= disk.mayBeGone(path);
  });
  await storage.write('jobs/fox.json', 'and a longer one', 'application/json');
  clearInterval(watched);
  expect(wasGone).toBe(false);
  expect(disk.isSafe(path)).toBe(true);
});

test('a small file survives a power cut as soon as it is created, in new folders too', async () => {
  for (const key of ['jobs/fox/0001.json', 'jobs/fox/0002.json']) {
    expect(await storage.create(key, '{"event":"sending"}')).toBe(true);
    expect(disk.isSafe(inStorage(key))).toBe(true);
  }
});

test('a small file that a killed worker has created is safe when the next worker finds it there', async () => {
  const part = inStorage('fox.part');
  await storage.write('jobs/0000.json', '{}', 'application/json');
  const file = await open(part, 'wx');
  await file.writeFile('{}');
  await file.sync();
  await file.close();
  await link(part, inStorage('jobs/0001.json'));
  expect(disk.mayBeGone(inStorage('jobs/0001.json'))).toBe(true);
  expect(await storage.create('jobs/0001.json', '{}')).toBe(false);
  expect(disk.isSafe(inStorage('jobs/0001.json'))).toBe(true);
});

test('a video that a killed attempt has stored is safe when the next attempt ends', async () => {
  const { path } = await partOf(storage, 'job-2', VIDEO);
  const file = await open(path, 'r+');
  await file.sync();
  await file.close();
  await link(path, inStorage('fox.mp4'));
  expect(disk.mayBeGone(inStorage('fox.mp4'))).toBe(true);

  await store(storage, 'fox.mp4', VIDEO);
  expect(disk.isSafe(inStorage('fox.mp4'))).toBe(true);
});

test('the results of a batch survive a power cut before the workflow may forget them', async () => {
  // Recording results calls no service.
  const service = createVideoService({ baseUrl: 'http://127.0.0.1:1', apiKey: () => 'none' });
  const { recordResults } = createVideoActivities({ service, storage });
  for (const item of [1, 2]) {
    const results: ItemResult[] = [
      { item, name: `fox-${item}`, outcome: 'failed', failure: 'Cancelled', message: 'no', details: {} },
    ];
    await startAttempt(recordResults, { batch: 'foxes', results }).result;
    expect(disk.isSafe(inStorage(resultsKey('foxes')))).toBe(true);
  }
});

test('a copy for --out survives a power cut', async () => {
  writeFileSync(join(folder, 'fox.mp4'), VIDEO);
  const target = await copyOut(pathToFileURL(join(folder, 'fox.mp4')).href, join(folder, 'out/fox.mp4'));
  expect(disk.isSafe(target)).toBe(true);
});

test('a send survives a power cut before its POST, and its task before the submit returns', async () => {
  const emulator = await startEmulator({ jobTimeMs: 0 });
  const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  const safeRecords = async () => {
    const records = await recordsIn(join(folder, 'videos'));
    return records.filter((name) => disk.isSafe(inStorage(name)));
  };
  let beforePost: string[] = [];
  const watched: OpenedVideoService = {
    ...service,
    start: async (...args) => {
      beforePost = await safeRecords();
      return service.start(...args);
    },
  };
  const { submitVideo } = createVideoActivities({ service: watched, storage });
  await startAttempt(submitVideo, { request: { prompt: 'A red fox' } }).result;
  expect(beforePost).toEqual([expect.stringMatching(/^jobs.test\.\w+.0001\.json$/)]);
  // With its task, and the claim of that.
  expect(await safeRecords()).toEqual([
    ...beforePost,
    expect.stringMatching(/^jobs.test\.\w+.0002\.json$/),
    expect.stringMatching(/^tasks.\w+.0001\.json$/),
  ]);
  await service.close();
  await emulator.close();
});
