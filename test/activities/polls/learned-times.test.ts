import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createVideoActivities } from '../../../activities';
import { LEARNED_TIMES_KEY, LearnedTimes } from '../../../activities/polls/learned-times';
import { PollPlan } from '../../../activities/polls/poll-plan';
import { createFileStorage, StorageFault, type VideoStorage } from '../../../src/storage';
import { recordsIn } from '../../support/stored-files';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const REQUEST = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const ENDED = { afterMs: 60_000, byMs: 65_000 };

let world: ActivityWorld;
const kind = (what = 'text 720p 5s') => `${world.emulator.url}/ ${what}`;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(() => world.close());

const activitiesOn = (storage: VideoStorage) => createVideoActivities({ service: world.service, storage });

let jobs = 0;
const inNewJob = () => ({ workflowExecution: { workflowId: `fox-${++jobs}`, runId: `run-${jobs}` } });

type Activities = ReturnType<typeof createVideoActivities>;

const submit = ({ submitVideo }: Activities, request: object = REQUEST) =>
  world.run(submitVideo, { request: { ...REQUEST, ...request } }, inNewJob()).result;

/** Whether the first poll of a task is not that of a task of which nothing is known. */
const knows = async (activities: Activities, request?: object) => {
  const { nextPollMs } = await submit(activities, request);
  return (
    nextPollMs !==
    new PollPlan({ service: {} }, new LearnedTimes(createFileStorage(`${world.folder}/other`))).nextPollMs({})
  );
};

const end = async (activities: Activities, more: object = {}, info: object = {}) => {
  const { taskId, kind } = await submit(activities);
  const input = { taskId, ...(kind !== undefined && { ended: { ...ENDED, kind, ...more } }) };
  return world.run(activities.downloadVideo, input, { ...inNewJob(), ...info }).result;
};

const file = () => join(world.folder, LEARNED_TIMES_KEY);
const learned = async () => JSON.parse(await readFile(file(), 'utf8'));

describe('a task that ended', () => {
  it('says when the next such task is polled first, and no other', async () => {
    const { activities } = world;
    expect(await knows(activities)).toBe(false);
    await end(activities);
    expect(await knows(activities)).toBe(true);
    expect(await submit(activities)).toHaveProperty('kind', kind());
    for (const other of [{ resolution: '480p' }, { duration: 6 }, { image_url: 'https://example.com/a.png' }])
      expect(await knows(activities, other)).toBe(false);
  });

  it('is learned by every worker that shares the storage, and by none of another service', async () => {
    await end(world.activities);
    expect(await recordsIn(world.folder)).toContain(LEARNED_TIMES_KEY);
    expect(await learned()).toEqual({
      kinds: [{ kind: kind(), endedMs: [62_500] }],
    });
    expect(await knows(world.activities)).toBe(true);
    const other = world.activitiesAt(`${world.emulator.url}/`.replace('127.0.0.1', 'localhost'));
    expect(await knows(other)).toBe(false);
  });

  it('is added to what others have learned, of which the last 100 are remembered', async () => {
    const endedMs = Array.from({ length: 100 }, (_, index) => index);
    const another = { kind: 'https://other.example.com/ text', endedMs: [1] };
    await mkdir(dirname(file()), { recursive: true });
    await writeFile(file(), JSON.stringify({ kinds: [{ kind: kind(), endedMs }, another] }));
    await end(world.activities);
    expect(await learned()).toEqual({
      kinds: [another, { kind: kind(), endedMs: [...endedMs.slice(1), 62_500] }],
    });
  });

  it('is counted once, however many attempts its download needs', async () => {
    const { activities } = world;
    await end(activities, {}, { attempt: 2 });
    expect(await knows(activities)).toBe(false);
  });

  it.each([
    ['not a number', { byMs: Number.NaN }],
    ['negative', { afterMs: -70_000 }],
    ['endless', { byMs: Number.POSITIVE_INFINITY }],
    ['longer than a week', { byMs: 1_300_000_000 }],
    ['of a kind with a long name', { kind: 'x'.repeat(1_000) }],
  ])('is not learned from when its time is %s', async (_name, more) => {
    await end(world.activities, more);
    expect(await recordsIn(world.folder)).not.toContain(LEARNED_TIMES_KEY);
  });

  it('is written at most every few seconds, and known to its own worker before', async () => {
    const { activities } = world;
    await end(activities, { afterMs: 1_000, byMs: 2_000 });
    await end(activities, { kind: kind('text 480p 5s') });
    expect((await learned()).kinds).toHaveLength(1);
    expect(await knows(activities, { resolution: '480p' })).toBe(true);
  });
});

it.each([
  ['cut off', '{"kinds":[{"serv'],
  ['of another shape', '[]'],
  ['full of nonsense', JSON.stringify({ kinds: [{ kind: 'text', endedMs: [-1, 1e300] }] })],
  ['huge', `{"kinds":[${' '.repeat(2_000_000)}]}`],
  ['hostile', '{"kinds":[{"kind":"__proto__","endedMs":["1","2"]}],"__proto__":{"a":1}}'],
])('a file that is %s is logged, counts as empty and is replaced', async (_name, content) => {
  await mkdir(dirname(file()), { recursive: true });
  await writeFile(file(), content);
  const { activities } = world;
  await end(activities);
  expect((await learned()).kinds).toHaveLength(1);
  expect(world.everythingReported().match(/learned-times.json could not be read/g)).toHaveLength(1);
});

describe('a storage that fails for the learned times alone', () => {
  const failing = (fail: () => Promise<never>): VideoStorage => {
    const storage = createFileStorage(world.folder);
    return {
      ...storage,
      read: (key) => (key === LEARNED_TIMES_KEY ? fail() : storage.read(key)),
      write: (key, ...rest) => (key === LEARNED_TIMES_KEY ? fail() : storage.write(key, ...rest)),
    };
  };

  it('fails neither submit nor download, is logged once, and its worker learns all the same', async () => {
    const activities = activitiesOn(failing(() => Promise.reject(new StorageFault('no such bucket'))));
    await end(activities);
    await end(activities);
    expect(await knows(activities)).toBe(true);
    expect(world.everythingReported().match(/no such bucket/g)).toHaveLength(1);
  });

  it('delays no submit when it hangs', async () => {
    const activities = activitiesOn(failing(() => new Promise(() => undefined)));
    expect(await submit(activities)).toHaveProperty('taskId');
  });
});

it('a task that was not just made has no kind and is polled at once, because nobody knows when it began', async () => {
  const { activities } = world;
  const info = inNewJob();
  const first = await world.run(activities.submitVideo, { request: REQUEST }, info).result;
  const again = await world.run(activities.submitVideo, { request: REQUEST }, info).result;
  expect(again).toMatchObject({ taskId: first.taskId, nextPollMs: 0 });
  expect(again).not.toHaveProperty('kind');
});

it('nothing is learned about a service without an address', async () => {
  const service = { ...world.service, address: undefined };
  const activities = createVideoActivities({ service, storage: createFileStorage(world.folder) });
  expect((await submit(activities)).kind).toBeUndefined();
  await end(activities);
  expect(await recordsIn(world.folder)).not.toContain(LEARNED_TIMES_KEY);
});

it('a service whose address is no text fails neither submit nor download', async () => {
  const service = { ...world.service, address: 7 as unknown as string };
  const activities = createVideoActivities({ service, storage: createFileStorage(world.folder) });
  expect(await submit(activities)).toMatchObject({ taskId: expect.any(String) });
  await end(activities);
});
