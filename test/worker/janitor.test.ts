import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { newPartName } from '../../src/storage/disk-files';
import { startJanitor } from '../../src/worker/activity-workers';
import { captureLogs } from '../support/logs';
import { eventually } from '../temporal-server/eventually';

const HOUR_MS = 3_600_000;

const logs = captureLogs();
let folder: string;
let stop: () => void = () => undefined;
beforeEach(() => {
  // Fakes only its interval: the file system needs real time.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'setTimeout', 'nextTick', 'Date', 'queueMicrotask'] });
  folder = mkdtempSync(join(tmpdir(), 'videogen-janitor-'));
  logs.length = 0;
});
afterEach(() => {
  stop();
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

// This file creates no worker, and only the last worker would shut the runtime down.
afterAll(() => Runtime.instance().shutdown());

/** A partial file, as a killed worker leaves it. */
function leavePart(hoursAgo: number, within = ''): string {
  mkdirSync(join(folder, within), { recursive: true });
  const file = join(folder, within, newPartName('task'));
  writeFileSync(file, 'half a fox');
  const when = (Date.now() - hoursAgo * HOUR_MS) / 1_000;
  utimesSync(file, when, when);
  return file;
}

const logged = () => logs.map(({ level, message, meta }) => [level, message, meta]);

test('files without a write for a day are removed at the start, newer ones are not', async () => {
  const old = [leavePart(25), leavePart(1_000, 'foxes/red')];
  const young = [leavePart(23), leavePart(0, 'foxes/red')];
  const video = join(folder, 'fox.mp4');
  writeFileSync(video, 'a whole fox');
  utimesSync(video, 0, 0);
  stop = startJanitor(createFileStorage(folder));
  await eventually('something is logged', () => logged().length > 0);
  expect(logged()).toEqual([
    ['INFO', 'removed leftovers of unfinished downloads', expect.objectContaining({ removed: 2 })],
  ]);
  expect(old.filter(existsSync)).toEqual([]);
  expect([...young, video].filter(existsSync)).toHaveLength(3);
});

test('it sweeps every hour until it is stopped, and logs only what it removed', async () => {
  let sweeps = 0;
  const { sweep = async () => 0, ...rest } = createFileStorage(folder);
  const storage: VideoStorage = {
    ...rest,
    sweep: async (olderThanMs) => {
      const removed = await sweep(olderThanMs);
      sweeps += 1;
      return removed;
    },
  };
  stop = startJanitor(storage);
  await eventually('the first sweep', () => sweeps === 1);
  expect(logged()).toEqual([]);

  const old = leavePart(25);
  jest.advanceTimersByTime(HOUR_MS - 1);
  expect(existsSync(old)).toBe(true);
  jest.advanceTimersByTime(1);
  await eventually('something is logged', () => logged().length > 0);
  expect(existsSync(old)).toBe(false);

  stop();
  jest.advanceTimersByTime(10 * HOUR_MS);
  expect(sweeps).toBe(2);
});

test('a sweep that fails is a warning, and the next comes an hour later', async () => {
  let sweeps = 0;
  const sweep = async () => {
    sweeps += 1;
    throw new StorageFault('EACCES: permission denied');
  };
  stop = startJanitor({ ...createFileStorage(folder), sweep });
  await eventually('the first warning', () => logged().length === 1);
  jest.advanceTimersByTime(HOUR_MS);
  await eventually('the second warning', () => logged().length === 2);
  expect(logged()[1]).toEqual([
    'WARN',
    'could not remove leftovers of unfinished downloads',
    expect.objectContaining({ error: 'StorageFault: EACCES: permission denied' }),
  ]);
  expect(sweeps).toBe(2);
});

test('a storage without sweep is left alone', async () => {
  const { sweep: _, ...storage } = createFileStorage(folder);
  stop = startJanitor(storage);
  jest.advanceTimersByTime(HOUR_MS);
  await new Promise(setImmediate);
  expect(logged()).toEqual([]);
});
