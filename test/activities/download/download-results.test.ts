import { hasControls } from '../../../src/contract/clean-text';
import { JobRecord, type VideoStorage } from '../../../src/storage';
import { box } from '../../media/boxes';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import {
  createMemoryWorld,
  cutAfter,
  FILES,
  inMemory,
  inspectedVideo,
  SUCCEEDED,
  sha256,
  TASK,
} from '../memory-world';

let video: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
});

const cost = { charged: { amount: 2, currency: 'USD' } };

test('the log of a download names its task, and what it has stored with which warnings', async () => {
  const world = createMemoryWorld(video);
  const { video: stored } = await world.download().result;
  const { warnings } = await world.download({ expected: { duration: 9 } }).result;
  expect(warnings).toHaveLength(1);
  expect(world.linesOf('downloading')).toEqual([{ taskId: TASK }, { taskId: TASK }]);
  expect(world.linesOf('stored')).toEqual([
    { taskId: TASK, ...stored },
    { taskId: TASK, ...stored, warnings },
  ]);
});

test('the result of a download has the warnings of the submit and of the service, each once', async () => {
  const world = createMemoryWorld(video, {
    service: {
      start: async () => ({ taskId: TASK, doubts: [], warnings: ['no sound'] }),
      status: async () => ({ ...SUCCEEDED, warnings: ['no sound', 'no seed'] }),
    },
  });
  const { record } = await world.submit().result;
  expect((await world.download({ record }).result).warnings).toEqual(['no sound', 'no seed']);
});

test('an error of the storage to write the sidecar is a warning in one short line', async () => {
  const write: VideoStorage['write'] = () =>
    Promise.reject(new Error(`no\u001b[2J room\n${'x'.repeat(10_000)}`));
  const { warnings } = await createMemoryWorld(video, { storage: { write } }).download().result;
  expect(warnings).toEqual([expect.stringMatching(/^test\.mp4\.json could not be written: no room x+…$/)]);
  expect(hasControls(warnings.join())).toBe(false);
  expect(warnings.join().length).toBeLessThan(1_000);
});

test('the sidecar and the record of the job say what the video cost, if that is known', async () => {
  const world = createMemoryWorld(video);
  const { record } = await world.submit().result;
  const { video: stored } = await world.download({ record, cost, expected: { seed: 7 } }).result;
  const sidecar = {
    namespace: 'test',
    workflowId: 'test',
    taskId: TASK,
    seed: 7,
    video: stored,
    warnings: [],
  };
  expect(world.json('test.mp4.json')).toEqual({ ...sidecar, request: { prompt: 'A red fox' }, cost });
  const entries = [...world.stored.keys()].filter((key) => key.startsWith('jobs/')).sort();
  const stores = { event: 'stored', taskId: TASK, key: 'test.mp4', cost };
  expect(world.json(entries.at(-1) ?? '')).toMatchObject(stores);
  await world.download({ expected: { seed: 7 } }).result;
  expect(world.json('test.mp4.json')).toEqual(sidecar);
});

test('a video that another worker has stored since, according to the record, is not downloaded again', async () => {
  const memory = inMemory();
  const world = createMemoryWorld(video, { storage: memory });
  const { record = '' } = await world.submit().result;
  const stored = {
    uri: 'memory:fox.mp4',
    bytes: video.length,
    sha256: sha256(video),
    contentType: 'video/mp4',
  };
  await memory.write('fox.mp4', video, 'video/mp4');
  const elsewhere = new JobRecord(memory, { namespace: 'test', job: 'test' }, record);
  await elsewhere.add({ event: 'stored', taskId: TASK, key: 'fox.mp4', video: stored, warnings: ['short'] });
  expect(await world.download({ record }).result).toEqual({ video: stored, warnings: ['short'] });
  expect(world.linesOf('downloading')).toEqual([]);
});

test('C2PA metadata is stored byte for byte as it came', async () => {
  const uuid = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
  const manifest = Buffer.concat([uuid, Buffer.alloc(4), Buffer.from('manifest\0'), Buffer.alloc(3_000, 7)]);
  const signed = Buffer.concat([video, box('uuid', manifest)]);
  const world = createMemoryWorld(signed);
  await world.download().result;
  expect(world.stored.get('test.mp4')?.equals(signed)).toBe(true);
});

test('a storage with only the four methods that it must have receives a video whose connection is cut, and publishes it when it is complete', async () => {
  let connections = 0;
  const world = createMemoryWorld(video, {
    storage: { partsFolder: undefined },
    service: {
      open: async (_link, { from } = {}) => {
        const body = openVideoBytes(video, from && { from });
        return connections++ === 0 ? cutAfter(5_000, body) : body;
      },
    },
  });
  expect((await world.download().result).video.uri).toBe('memory:test.mp4');
  expect([...world.stored.keys()]).toEqual(FILES);
  expect(world.stored.get('test.mp4')?.equals(video)).toBe(true);
});

test('a storage with only the four methods that it must have that cannot publish fails the download with its own message', async () => {
  const publishFile = () => Promise.reject(new Error('quota exceeded'));
  const world = createMemoryWorld(video, { storage: { publishFile } });
  const { failure, details } = await failureOf(world.download());
  expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
  expect(details).toMatchObject({ taskId: TASK, message: 'quota exceeded' });
});
