import { JobRecord, type VideoStorage } from '../../../src/storage';
import { sha256 } from './download-world';
import { inMemory } from './memory-storage';
import { createMemoryWorld, FILES, inspectedVideo, SUCCEEDED, TASK } from './memory-world';

let video: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
});

describe('the log of a download', () => {
  it('names its task, and what it has stored', async () => {
    const world = createMemoryWorld(video);
    const named = { taskId: TASK };
    const { video: stored } = await world.download().result;
    expect(world.linesOf('downloading')).toEqual([named]);
    expect(world.linesOf('stored')).toEqual([{ ...named, ...stored }]);
  });

  it('has the warnings of its result', async () => {
    const world = createMemoryWorld(video);
    const { warnings } = await world.download({ expected: { duration: 9 } }).result;
    expect(warnings).toHaveLength(1);
    expect(world.linesOf('stored')).toMatchObject([{ warnings }]);
  });
});

describe('the result of a download', () => {
  it('has the warnings of the submit and of the service, each once', async () => {
    const world = createMemoryWorld(video, {
      service: {
        start: async () => ({ taskId: TASK, doubts: [], warnings: ['no sound'] }),
        status: async () => ({ ...SUCCEEDED, warnings: ['no sound', 'no seed'] }),
      },
    });
    const { record } = await world.submit();
    const { warnings } = await world.download({ record }).result;
    expect(warnings).toEqual(['no sound', 'no seed']);
  });

  it('says that the sidecar could not be written', async () => {
    const write: VideoStorage['write'] = () => Promise.reject(new Error('no room'));
    const { warnings } = await createMemoryWorld(video, { storage: { write } }).download().result;
    expect(warnings).toEqual(['test.mp4.json could not be written: no room']);
  });
});

describe('beside a video', () => {
  const cost = { charged: { amount: 2, currency: 'USD' } };

  it('there is a sidecar, with what the video cost if that is known', async () => {
    const world = createMemoryWorld(video);
    const { video: stored } = await world.download({ cost, expected: { seed: 7 } }).result;
    expect([...world.stored.keys()]).toEqual(FILES);
    const sidecar = {
      namespace: 'test',
      workflowId: 'test',
      taskId: TASK,
      seed: 7,
      video: stored,
      warnings: [],
    };
    expect(world.json('test.mp4.json')).toEqual({ ...sidecar, cost });
    await world.download({ expected: { seed: 7 } }).result;
    expect(world.json('test.mp4.json')).toEqual(sidecar);
  });

  it('the record of its job says where it is and what it cost', async () => {
    const world = createMemoryWorld(video);
    const { record } = await world.submit();
    await world.download({ record, cost }).result;
    const last =
      [...world.stored.keys()]
        .filter((key) => key.startsWith('jobs/'))
        .sort()
        .at(-1) ?? '';
    expect(world.json(last)).toMatchObject({ event: 'stored', taskId: TASK, key: 'test.mp4', cost });
  });
});

it('a video that is on record is not downloaded again', async () => {
  let polls = 0;
  const poll = async () => {
    polls += 1;
    return SUCCEEDED;
  };
  const world = createMemoryWorld(video, { service: { status: poll } });
  const { record } = await world.submit();
  const first = await world.download({ record }).result;
  expect(await world.download({ record }).result).toEqual(first);
  expect(polls).toBe(1);
});

describe('the record of the job', () => {
  const recordingWorld = () => {
    const memory = inMemory();
    return { memory, ...createMemoryWorld(video, { storage: memory }) };
  };

  it('tells that another worker has stored the video since', async () => {
    const { memory, ...world } = recordingWorld();
    const { record = '' } = await world.submit();
    const stored = {
      uri: 'memory:fox.mp4',
      bytes: video.length,
      sha256: sha256(video),
      contentType: 'video/mp4',
    };
    await memory.write('fox.mp4', video, 'video/mp4');
    const elsewhere = new JobRecord(memory, { namespace: 'test', job: 'test' }, record);
    await elsewhere.add({ event: 'stored', taskId: TASK, key: 'fox.mp4', video: stored, warnings: [] });
    expect((await world.download({ record }).result).video).toEqual(stored);
    expect(world.linesOf('downloading')).toEqual([]);
  });
});
