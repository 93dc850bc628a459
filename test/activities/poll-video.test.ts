import { CancelledFailure } from '@temporalio/common';
import { HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import { closed, type RawServer, reply, replyJson, startRawServer } from '../service/raw-server';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

const JOB_TIME_MS = 100_000;

let nowMs: number;
let world: ActivityWorld;
let taskId: string;
beforeEach(async () => {
  nowMs = 0;
  world = await createActivityWorld({ jobTimeMs: JOB_TIME_MS, clock: () => nowMs });
  const { submitVideo } = world.activities;
  ({ taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result);
});
afterEach(async () => {
  expect(world.emulator.scriptIsSpent()).toBe(true);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const poll = () => world.run(world.activities.pollVideo, { taskId });

/** What a poll found, without when the next one is: that is the plan's to say. */
async function found({ result }: ReturnType<typeof poll>): Promise<object> {
  const { nextPollMs, ...status } = await result;
  expect(nextPollMs).toBeGreaterThanOrEqual(1_000);
  return status;
}

describe('a poll of a task', () => {
  it('finds it queued, then running, then with a video, and never returns the link', async () => {
    const polls = [];
    for (nowMs of [0, 5_000, 10_000, 60_000, JOB_TIME_MS]) polls.push(await found(poll()));
    expect(polls).toEqual([
      { state: 'queued', word: 'queued', percent: 0 },
      { state: 'queued', word: 'queued', percent: 5, progress: { percent: 5, atMs: 0 } },
      { state: 'running', word: 'running', percent: 10, progress: { percent: 10, atMs: 0 } },
      { state: 'running', word: 'running', percent: 60, progress: { percent: 60, atMs: 0 } },
      { state: 'succeeded', word: 'succeeded', hasVideo: true },
    ]);
  });

  it('finds it succeeded without a video', async () => {
    world.emulator.next('status', { kind: 'no-video' });
    expect(await found(poll())).toEqual({ state: 'succeeded', word: 'succeeded', hasVideo: false });
  });

  it('finds it failed, with the service’s message', async () => {
    world.emulator.next('status', { kind: 'failed-task', code: 'foxes\u0007', message: 'Not\n this.' });
    expect(await found(poll())).toEqual({
      state: 'failed',
      word: 'failed',
      code: 'foxes',
      message: 'Not this.',
    });
  });

  it.each([
    ['canceled', { state: 'cancelled', word: 'canceled' }],
    ['expired', { state: 'failed', word: 'expired' }],
    ['brewing', { state: 'unknown', word: 'brewing' }],
    ['bre\u0000wing\n\u202e', { state: 'unknown', word: 'bre wing' }],
    ['IN_PROGRESS', { state: 'running', word: 'IN_PROGRESS' }],
  ])('understands the word %j', async (word, expected) => {
    world.emulator.next('status', { kind: 'unknown-state', word });
    expect(await found(poll())).toEqual(expected);
  });

  it('finds it running in an empty 202', async () => {
    world.emulator.next('status', { kind: 'empty', status: 202 });
    expect(await found(poll())).toEqual({ state: 'running', word: '' });
  });

  it('needs no heartbeats', async () => {
    const attempt = poll();
    await attempt.result;
    expect(attempt.beats).toHaveLength(0);
  });

  it('has none as a local activity, however long it takes: the SDK would log a warning for each', async () => {
    world.emulator.next('status', { kind: 'late', ms: HEARTBEAT_EVERY_MS + 500 });
    const attempt = world.run(world.activities.pollVideo, { taskId }, { isLocal: true });
    await attempt.result;
    expect(attempt.beats).toHaveLength(0);
  });

  it('of an unknown task fails with its id', async () => {
    const attempt = world.run(world.activities.pollVideo, { taskId: 'no/such task' });
    const { failure, details } = await failureOf(attempt);
    expect(failure.type).toBe('TaskUnknown');
    expect(details).toMatchObject({ taskId: 'no/such task', status: 404, message: 'no such task' });
    expect(failure.message).toContain('(task no/such task)');
  });
});

describe('a poll at another server', () => {
  let server: RawServer;
  afterEach(() => server.close());
  const pollThere = () => world.run(world.activitiesAt(server.url).pollVideo, { taskId });

  it.each(['queued', 'brewing'])(
    'for a task that is %s waits as long as the service asks',
    async (status) => {
      server = await startRawServer((request) =>
        replyJson(request, { status }, { headers: { 'retry-after': 90 } }),
      );
      expect(await pollThere().result).toMatchObject({ word: status, nextPollMs: 90_000 });
    },
  );

  it('for a cancelled task returns why', async () => {
    server = await startRawServer((request) =>
      replyJson(request, { status: 'cancelled', error: { code: 'user', message: 'Stopped by hand' } }),
    );
    expect(await found(pollThere())).toEqual({
      state: 'cancelled',
      word: 'cancelled',
      code: 'user',
      message: 'Stopped by hand',
    });
  });

  it.each([
    ['a regular activity', { isLocal: false }, true],
    ['a local activity, which would wait in its workflow task', { isLocal: true }, false],
  ])('that is told when to come back, as %s', async (_, info, isRetried) => {
    server = await startRawServer((request) =>
      reply(request, { status: 503, headers: { 'retry-after': 9 }, body: '{}' }),
    );
    const attempt = world.run(world.activitiesAt(server.url).pollVideo, { taskId }, info);
    const { failure, details } = await failureOf(attempt);
    expect({ isRetried: !failure.nonRetryable, retryAfter: details.retryAfter }).toEqual({
      isRetried,
      retryAfter: 9,
    });
  });

  it('that is cancelled while it waits for the answer closes the socket and ends as cancelled', async () => {
    server = await startRawServer();
    const attempt = pollThere();
    const { socket } = await server.nextRequest();
    attempt.cancel();
    await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
    await closed(socket);
  });

  it.each([200, 503])(
    'that is cancelled inside an answer of status %d ends as cancelled too',
    async (status) => {
      server = await startRawServer((request) =>
        request.line.includes('another')
          ? replyJson(request, { status: 'running' })
          : reply(request, { status, headers: { 'content-length': 50 }, body: '{"status"' }),
      );
      const attempt = pollThere();
      const { socket } = await server.nextRequest();
      // Half of the answer has been read when a later exchange is over.
      await world.run(world.activitiesAt(server.url).pollVideo, { taskId: 'another' }).result;
      attempt.cancel();
      await expect(attempt.result).rejects.toBeInstanceOf(CancelledFailure);
      await closed(socket);
    },
  );

  it('that gets half a link in a broken answer redacts it', async () => {
    const link = `https://cdn.example.com/v.mp4?signature=${world.emulator.linkSignature}`;
    server = await startRawServer((request) => reply(request, { body: `{"video_url":"${link}` }));
    const { failure, details } = await failureOf(pollThere());
    expect(failure.type).toBe('AnswerUnreadable');
    expect(details.message).toBe('not JSON: {"video_url":"https://cdn.example.com/v.mp4?…');
  });
});
