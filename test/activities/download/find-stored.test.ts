import { findStored } from '../../../activities/download/download-video';
import type { StoredEntry, VideoStorage } from '../../../src/storage';
import { startAttempt } from '../activity-world';
import { sha256 } from './download-world';
import { inMemory } from './memory-storage';

const BYTES = Buffer.from('a video');
const VIDEO = { uri: 'memory:fox.mp4', bytes: 7, sha256: sha256(BYTES), contentType: 'video/mp4' };
const STORED: StoredEntry = {
  event: 'stored',
  id: '1',
  at: '2026-11-18T00:00:00Z',
  namespace: 'default',
  job: 'fox',
  taskId: 'task-1',
  key: 'fox.mp4',
  video: VIDEO,
  warnings: ['it is short'],
};

let storage: VideoStorage;
let logged: unknown[];
beforeEach(async () => {
  storage = inMemory(new Map([['fox.mp4', BYTES]]));
  logged = [];
});

function find(taskId = 'task-1', onRecord: Partial<StoredEntry> = {}) {
  const activity = () => findStored({ ...STORED, ...onRecord }, taskId, storage);
  return startAttempt(activity, undefined, {}, logged).result;
}

it('a video that is on record and in the storage is found', async () => {
  expect(await find()).toEqual({ video: VIDEO, warnings: ['it is short'] });
});

it.each<[what: string, ...given: Parameters<typeof find>]>([
  ['of another task', 'task-2'],
  ['of other bytes', undefined, { video: { ...VIDEO, sha256: sha256(Buffer.from('another')) } }],
  ['that is gone', undefined, { key: 'owl.mp4' }],
])('a video %s is not found', async (_what, ...given) => {
  expect(await find(...given)).toBeUndefined();
});

it('the log says which video is gone', async () => {
  await find(undefined, { key: 'owl.mp4' });
  expect(logged).toContainEqual(
    expect.objectContaining({ event: 'storedVideoGone', taskId: 'task-1', key: 'owl.mp4' }),
  );
});
