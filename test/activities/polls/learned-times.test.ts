import { createVideoActivities } from '../../../activities';
import { LearnedTimes, PollPlan } from '../../../activities/polls/poll-plan';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const REQUEST = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const KIND = 'https://ark.example/ text 720p 5s';
const task = (ms: number, kind = KIND) => ({ kind, afterMs: ms - 1, byMs: ms + 1 });

describe('of what ended', () => {
  it('the last 100 tasks of each kind are known', () => {
    const times = new LearnedTimes();
    for (let learned = 0; learned < 100; learned++) times.learn(task(90_000));
    for (let learned = 0; learned < 60; learned++) times.learn(task(1_000));
    expect(times.endedOf(KIND)).toEqual([...Array(40).fill(90_000), ...Array(60).fill(1_000)]);
    expect(times.endedOf('another')).toEqual([]);
    expect(times.endedOf(undefined)).toEqual([]);
  });

  it('the 64 kinds of which a task ended last are known', () => {
    const times = new LearnedTimes();
    for (let other = 0; other < 64; other++) times.learn(task(1, `other ${other}`));
    times.learn(task(2, 'other 0'));
    times.learn(task(1, 'new'));
    const known = ['other 0', 'other 1', 'other 2', 'new'].map((kind) => times.endedOf(kind));
    expect(known).toEqual([[1, 2], [], [1], [1]]);
  });
});

describe('a worker', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.close());

  let jobs = 0;
  const inNewJob = () => ({ workflowExecution: { workflowId: `fox-${++jobs}`, runId: `run-${jobs}` } });

  type Activities = ReturnType<typeof createVideoActivities>;

  const submit = ({ submitVideo }: Activities, request: object = REQUEST) =>
    world.run(submitVideo, { request: { ...REQUEST, ...request } }, inNewJob()).result;

  /** Whether the first poll of a task is not that of a task of which nothing is known. */
  const knows = async (activities: Activities, request?: object) => {
    const { nextPollMs } = await submit(activities, request);
    return nextPollMs !== new PollPlan({ service: {} }, new LearnedTimes()).nextPollMs({});
  };

  const end = async (activities: Activities, more: object = {}) => {
    const { taskId, kind } = await submit(activities);
    const polled = { taskId, kind, polledMs: 60_000, waitedMs: 65_000, ...more };
    return world.run(activities.pollVideo, polled, inNewJob()).result;
  };

  it('learns from a task that ended when to poll the next such task, and no other', async () => {
    const { activities } = world;
    expect(await knows(activities)).toBe(false);
    await end(activities);
    expect(await knows(activities)).toBe(true);
    expect(await submit(activities)).toHaveProperty('kind', `${world.emulator.url}/ text 720p 5s`);
    for (const other of [{ resolution: '480p' }, { duration: 6 }, { image_url: 'https://example.com/a.png' }])
      expect(await knows(activities, other)).toBe(false);
  });

  it('learns nothing from a task that was adopted', async () => {
    const { activities } = world;
    await end(activities, { kind: undefined });
    expect(await knows(activities)).toBe(false);
  });

  it('learns nothing from a task that has no video yet', async () => {
    const { activities } = world;
    world.emulator.next('status', { kind: 'no-video' });
    expect(await end(activities)).toMatchObject({ state: 'succeeded', hasVideo: false });
    expect(await knows(activities)).toBe(false);
  });

  it('gives a task no kind that was not just made: it is polled at once, because nobody knows when it began', async () => {
    const { activities } = world;
    const info = inNewJob();
    const first = await world.run(activities.submitVideo, { request: REQUEST }, info).result;
    const again = await world.run(activities.submitVideo, { request: REQUEST }, info).result;
    expect(again).toMatchObject({ taskId: first.taskId, nextPollMs: 0 });
    expect(again).not.toHaveProperty('kind');
  });

  it('learns nothing about a service without an address', async () => {
    const service: VideoService = { ...world.service, address: undefined };
    const activities = createVideoActivities({ service, storage: createFileStorage(world.folder) });
    expect((await submit(activities)).kind).toBeUndefined();
    await end(activities);
    expect(await knows(activities)).toBe(false);
  });

  it('fails neither submit nor poll when the address of its service is no text', async () => {
    const service = { ...world.service, address: 7 as unknown as string };
    const activities = createVideoActivities({ service, storage: createFileStorage(world.folder) });
    expect(await submit(activities)).toMatchObject({ taskId: expect.any(String) });
    await end(activities);
  });
});
