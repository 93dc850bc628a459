import { findStored } from '../../../activities/download/find-stored';
import { JobRecordFile } from '../../../activities/job-record';
import type { StoredRecord } from '../../../src/retention';
import type { VideoStorage } from '../../../src/storage';
import { startAttempt } from '../activity-world';
import { sha256 } from './download-world';
import { inMemory } from './memory-storage';

const BYTES = Buffer.from('a video');
const VIDEO = { uri: 'memory:fox.mp4', bytes: 7, sha256: sha256(BYTES), contentType: 'video/mp4' };
const STORED = { taskId: 'task-1', key: 'fox.mp4', video: VIDEO, warnings: ['it is short'] };

let stored: Map<string, Buffer>;
let storage: VideoStorage;
let written: string[];
let logged: unknown[];
beforeEach(async () => {
  stored = new Map([['fox.mp4', BYTES]]);
  const memory = inMemory({ stored });
  written = [];
  logged = [];
  const write: VideoStorage['write'] = (key, ...given) => {
    written.push(key);
    return memory.write(key, ...given);
  };
  storage = { ...memory, write };
});

const record = () => JobRecordFile.withId(storage, { job: 'fox', id: '0123456789abcdef' });

/** Finds what is on record, with the date that the video has from now on. */
function find({
  input = {},
  onRecord = {},
  renew = async ({ video }) => video,
}: {
  input?: { taskId?: string; storage?: string };
  onRecord?: Partial<StoredRecord> | undefined;
  renew?: (record: StoredRecord) => Promise<StoredRecord['video'] | undefined>;
} = {}) {
  const activity = async () => {
    if (onRecord) await record().writeStored({ ...STORED, ...onRecord });
    written = [];
    return findStored(record(), { taskId: 'task-1', ...input }, { storage, keeping: { renew } });
  };
  return startAttempt(activity, undefined, {}, logged).result;
}

it('a video that is on record and in the storage is found, and its record stays as it is', async () => {
  expect(await find()).toEqual({ video: VIDEO, warnings: ['it is short'] });
  expect(written).toEqual([]);
});

it('a later date is written to the record', async () => {
  const video = { ...VIDEO, expiresAt: '2030-01-01T00:00:00.000Z' };
  expect(await find({ renew: async () => video })).toMatchObject({ video });
  expect(written).toEqual([record().key]);
  expect(JSON.parse(String(stored.get(record().key)))).toMatchObject({ state: 'stored', video });
});

it.each<[what: string, given: Parameters<typeof find>[0]]>([
  ['of another task', { input: { taskId: 'task-2' } }],
  ['that has expired', { renew: async () => undefined }],
  ['of other bytes', { onRecord: { video: { ...VIDEO, sha256: sha256(Buffer.from('another')) } } }],
  ['that is gone', { onRecord: { key: 'owl.mp4' } }],
])('a video %s is not found', async (_what, given) => {
  expect(await find(given)).toBeUndefined();
  expect(written).toEqual([]);
});

it('without a record nothing is found', async () => {
  const activity = () =>
    findStored(record(), STORED, { storage, keeping: { renew: async ({ video }) => video } });
  expect(await startAttempt(activity, undefined).result).toBeUndefined();
});

it('the log says which video is gone', async () => {
  await find({ onRecord: { key: 'owl.mp4' } });
  expect(logged).toContainEqual(
    expect.objectContaining({ event: 'storedVideoGone', taskId: 'task-1', key: 'owl.mp4' }),
  );
});

it.each<[where: string, requested: string | undefined, onRecord: Partial<StoredRecord>, more: string[]]>([
  ['anywhere', undefined, { storage: 'foxes/' }, []],
  ['where it was asked for before', 'foxes/', { storage: 'foxes/' }, []],
  ['elsewhere', 'owls/', { storage: 'foxes/' }, ['the video was stored before as fox.mp4 and stays there']],
])('a video that is asked for %s stays where it is', async (_where, requested, onRecord, more) => {
  const found = await find({ input: requested === undefined ? {} : { storage: requested }, onRecord });
  expect(found?.warnings).toEqual(['it is short', ...more]);
});
