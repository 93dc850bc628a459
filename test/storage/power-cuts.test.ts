import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { link, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createVideoActivities } from '../../activities';
import { copyOut } from '../../src/cli/copy-out';
import { type ItemResult, resultsKey } from '../../src/contract/batch';
import { type Emulator, startEmulator } from '../../src/emulator';
import { createVideoService, type VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { startAttempt } from '../activities/activity-world';
import { disk } from '../support/disk-recorder';
import { recordsIn } from '../support/stored-files';
import { feed, MP4, store, VIDEO, wholeOf } from './storage-contract';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('../support/disk-recorder')>('../support/disk-recorder')
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

test('a small file survives, and a power cut while it is replaced leaves the old one or the new one', async () => {
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

test('a video that was set aside survives', async () => {
  const incoming = await storage.receive('fox.mp4', MP4);
  await feed(incoming, Readable.from([VIDEO]));
  await incoming.setAside?.('rejected/fox.mp4');
  expect(disk.isSafe(inStorage('rejected/fox.mp4'))).toBe(true);
});

test('a video that a killed attempt has stored is safe when the next attempt ends', async () => {
  const next = await storage.receive('fox.mp4', MP4);
  await feed(next, Readable.from([VIDEO]));
  const killed = await storage.receive('fox.mp4', { ...MP4, owner: 'job-2' });
  await feed(killed, Readable.from([VIDEO]));
  await killed.part?.leave();
  const part = inStorage(killed.part?.name ?? '');
  const file = await open(part);
  await file.sync();
  await file.close();
  await link(part, inStorage('fox.mp4'));
  expect(disk.mayBeGone(inStorage('fox.mp4'))).toBe(true);

  await next.publish(wholeOf(VIDEO));
  expect(disk.isSafe(inStorage('fox.mp4'))).toBe(true);
});

test('the results of a batch survive before the workflow may forget them', async () => {
  const { recordResults } = createVideoActivities({ service: unusedService(), storage });
  for (const item of [1, 2]) {
    const results: ItemResult[] = [
      { item, name: `fox-${item}`, outcome: 'failed', failure: 'Cancelled', message: 'no', details: {} },
    ];
    await startAttempt(recordResults, { batch: 'foxes', results }).result;
    expect(disk.isSafe(inStorage(resultsKey('foxes')))).toBe(true);
  }
});

test('a copy for --out survives', async () => {
  writeFileSync(join(folder, 'fox.mp4'), VIDEO);
  const target = await copyOut(pathToFileURL(join(folder, 'fox.mp4')).href, join(folder, 'out/fox.mp4'));
  expect(disk.isSafe(target)).toBe(true);
});

describe('a submit', () => {
  let emulator: Emulator;
  let service: VideoService;
  beforeEach(async () => {
    emulator = await startEmulator({ jobTimeMs: 0 });
    service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  });
  afterEach(async () => {
    await service.close();
    await emulator.close();
  });

  test('is on record before the POST, and its task before it returns', async () => {
    const safeRecords = async () => {
      const records = await recordsIn(join(folder, 'videos'));
      return records.filter((name) => disk.isSafe(inStorage(name)));
    };
    let beforePost: string[] = [];
    const watched: VideoService = {
      ...service,
      submit: async (...args) => {
        beforePost = await safeRecords();
        return service.submit(...args);
      },
    };
    const { submitVideo } = createVideoActivities({ service: watched, storage });
    await startAttempt(submitVideo, { request: { prompt: 'A red fox' } }).result;
    expect(beforePost).toHaveLength(1);
    expect(await safeRecords()).toEqual(beforePost);
  });
});

/** Recording results calls no service. */
function unusedService(): VideoService {
  return createVideoService({ baseUrl: 'http://127.0.0.1:1', apiKey: () => 'none' });
}
