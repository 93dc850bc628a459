import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobRecordFile } from '../../activities/job-record';
import { readRecord } from '../../src/retention';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { eventsIn, startAttempt } from './activity-world';

const ID = '0123456789abcdef';
const VIDEO = { uri: 'file:///fox.mp4', bytes: 5, sha256: 'aa', contentType: 'video/mp4' };
const STORED = { taskId: 'task-1', key: 'fox.mp4', video: VIDEO, warnings: [] };

let folder: string;
let storage: VideoStorage;
let faults: number;
let reported: unknown[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-record-file-'));
  const files = createFileStorage(folder);
  [faults, reported] = [0, []];
  const write: VideoStorage['write'] = async (...args) => {
    if (faults-- > 0) throw new StorageFault('no space left');
    return files.write(...args);
  };
  storage = { ...files, write };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const record = () => JobRecordFile.withId(storage, { job: 'fox', id: ID });
/** Writes in an activity. What it returns is what the storage has then. */
async function written(write: (file: JobRecordFile) => Promise<void>): Promise<unknown> {
  const file = record();
  await startAttempt(() => write(file), undefined, {}, reported).result;
  return readRecord(storage, file.key);
}

const NOT_WRITTEN = { event: 'recordNotWritten', record: `jobs/fox.${ID}.json` };

describe('the record of a task', () => {
  test('is tried once more when the storage fails', async () => {
    faults = 1;
    expect(await written((file) => file.writeTask('task-1'))).toMatchObject({
      ...{ state: 'submitted', taskId: 'task-1', job: 'fox', namespace: 'test' },
    });
    expect(eventsIn(reported)).toEqual([]);
  });

  test('is given up after that, with the task in the log', async () => {
    faults = 2;
    expect(await written((file) => file.writeTask('task-1'))).toBeUndefined();
    expect(eventsIn(reported)).toMatchObject([
      { ...NOT_WRITTEN, taskId: 'task-1', error: expect.stringContaining('no space left') },
    ]);
  });
});

test('the record of a video is what a later job finds', async () => {
  expect(await written((file) => file.writeStored(STORED))).toMatchObject({ state: 'stored', ...STORED });
});

test.each<[string, (file: JobRecordFile) => Promise<void>, object]>([
  ['a refusal', (file) => file.writeRefused({ keySent: true }), {}],
  ['a video', (file) => file.writeStored(STORED), { taskId: 'task-1' }],
])('a record of %s that cannot be written is logged, and fails nothing', async (_what, write, named) => {
  faults = 1;
  expect(await written(write)).toBeUndefined();
  expect(eventsIn(reported)).toMatchObject([{ ...NOT_WRITTEN, ...named }]);
});
