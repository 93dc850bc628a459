import { createVideoActivities } from '../../../activities';
import { HEARTBEAT_EVERY_MS } from '../../../src/contract/policies';
import type { VideoRequest } from '../../../src/contract/request';
import type { VideoServiceOptions } from '../../../src/service';
import { createFileStorage, StorageFault } from '../../../src/storage';
import { freePort } from '../../../src/temporal-server/loopback-port';
import type { Faults } from '../../../src/testing';
import { closed, reply, replyJson, startRawServer } from '../../service/raw-server';
import { recordsIn } from '../../support/stored-files';
import { eventually } from '../../temporal-server/eventually';
import { type ActivityWorld, createActivityWorld, failureOf, notesOf } from '../activity-world';
import { createMemoryWorld } from '../memory-world';

const REQUEST: VideoRequest = { prompt: 'A red fox', resolution: '720p', seed: 7 };

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(async () => {
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

const submit = (request: unknown, info = {}) =>
  world.run(world.activities.submitVideo, { request: request as VideoRequest }, info);

/** The id of a POST, in the heartbeat and in the record of the job. */
const SEND = expect.any(String);

/** The last heartbeat of an attempt, which the next one reads. */
const noteOf = ({ beats }: { beats: unknown[] }) => beats.at(-1);

function noKey(): never {
  throw new Error('no such file');
}

test.each<[string, VideoRequest]>([
  ['/v1/videos/text-to-video', REQUEST],
  ['/v1/videos/image-to-video', { ...REQUEST, image_url: 'https://example.com/fox.png' }],
])('a submit posts to %s and returns the task id', async (path, request) => {
  const attempt = submit(request);
  const { taskId } = await attempt.result;
  expect(world.emulator.generations()).toMatchObject([{ taskId, request }]);
  expect(world.emulator.calls).toMatchObject([
    { call: 'submit', path, body: request, contentType: 'application/json', authorized: true },
  ]);
});

test.each([
  ['no prompt', {}, 'prompt is missing'],
  ['a duration beyond the limit', { prompt: 'x', duration: 11 }, 'duration must be at most 10 (was 11)'],
  ['a misspelt field', { prompt: 'x', aspectRatio: '1:1' }, '"aspectRatio": not a field of the request'],
  ['no request at all', undefined, 'the request must be a JSON object'],
])('a submit of %s is refused before a byte is sent', async (_what, request, problem) => {
  const attempt = submit(request);
  const { failure, details } = await failureOf(attempt);
  expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
  expect(details.message).toContain(problem);
  expect(details.status).toBeUndefined();
  expect(world.emulator.calls).toHaveLength(0);
  expect(notesOf(attempt)).toEqual([{ attemptWithoutTask: 1 }]);
  expect(await recordsIn(world.folder)).toEqual([]);
});

test.each<[string, Faults['submit'], string]>([
  ['a 429', { kind: 'rate-limited' }, 'refused'],
  ['a 500', { kind: 'server-error' }, 'unclear'],
  ['a 400', { kind: 'refused', status: 400, message: 'no' }, 'refused'],
])('a submit that got %s notes that it made no task before it throws', async (_what, fault, outcome) => {
  world.emulator.next('submit', fault);
  const attempt = submit(REQUEST);
  await failureOf(attempt);
  expect(noteOf(attempt)).toEqual({ attemptWithoutTask: 1, sends: [{ id: SEND, attempt: 1, outcome }] });
  expect(world.emulator.generations()).toHaveLength(0);
});

test.each<[string, Partial<VideoServiceOptions>, string]>([
  ['nothing listens', {}, 'ECONNREFUSED'],
  ['its API key cannot be read', { apiKey: noKey }, 'no such file'],
])(
  'a submit that could not be sent, because %s, notes that too, and is retryable',
  async (_why, options, reason) => {
    const { submitVideo } = world.activitiesAt(`http://127.0.0.1:${await freePort()}`, options);
    const attempt = world.run(submitVideo, { request: REQUEST });
    const { failure } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(failure.message).toContain(reason);
    expect(noteOf(attempt)).toEqual({
      attemptWithoutTask: 1,
      sends: [{ id: SEND, attempt: 1, outcome: 'not-sent' }],
    });
    expect(world.emulator.calls).toHaveLength(0);
  },
);

test('a submit repeats its note in heartbeats while it waits for the answer', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
  try {
    const start = async () => {
      await jest.advanceTimersByTimeAsync(HEARTBEAT_EVERY_MS);
      return { taskId: 'task-1' };
    };
    const attempt = createMemoryWorld(undefined, { service: { start } }).submit();
    await attempt.result;
    const sending = { sends: [{ id: SEND, attempt: 1 }] };
    expect(attempt.beats).toEqual([sending, sending, { taskId: 'task-1' }]);
  } finally {
    jest.useRealTimers();
  }
});

test.each([
  ['no note', 2, undefined],
  ['an empty note', 2, null],
  ['another note', 2, { bytes: 5 }],
  ['a note that is not a number', 2, { attemptWithoutTask: '1' }],
  ['a text', 2, 'attemptWithoutTask'],
  ['a task id that is not text', 2, { taskId: 5 }],
  ['the note of the attempt before the last', 3, { attemptWithoutTask: 1 }],
  ['a note of its own number', 2, { attemptWithoutTask: 2 }],
])('a second attempt that finds %s sends nothing', async (_what, attempt, heartbeatDetails) => {
  const run = submit(REQUEST, { attempt, heartbeatDetails });
  const { failure, details } = await failureOf(run);
  expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
  expect(details).toEqual({
    attempt,
    message: `attempt ${attempt - 1} ended before its answer was known`,
    onLostSubmit: 'hold',
    lostSubmit: expect.any(String),
  });
  expect(world.emulator.calls).toHaveLength(0);
  expect(run.beats).toHaveLength(0);
});

test.each([1, 2])(
  'a second attempt sends nothing when an attempt was sending, as attempt %d after a reset',
  async (attempt) => {
    const noted = { attemptWithoutTask: 1, sends: [{ id: 'send-2', attempt: 2 }] };
    const run = submit(REQUEST, { attempt, heartbeatDetails: noted });
    const { failure, details } = await failureOf(run);
    expect(failure.type).toBe('SubmitUnconfirmed');
    expect(details).toMatchObject({
      message: 'attempt 2 ended before its answer was known',
      lostSubmit: 'send-2',
    });
    expect(world.emulator.calls).toHaveLength(0);
  },
);

test('a second attempt returns the task that the first one noted, whether or not the storage has a record or can be read', async () => {
  const noted = { attempt: 2, heartbeatDetails: { taskId: 'task_noted' } };
  expect(await submit(REQUEST, noted).result).toMatchObject({ taskId: 'task_noted' });
  const read = () => Promise.reject(new StorageFault('the disk hangs'));
  const storage = { ...createFileStorage(world.folder), read };
  const { submitVideo } = createVideoActivities({ service: world.service, storage });
  const second = world.run(submitVideo, { request: REQUEST }, noted);
  expect(await second.result).toMatchObject({ taskId: 'task_noted' });
  expect(world.emulator.calls).toHaveLength(0);
});

test.each([
  ['is lost when the service may know the key', 'refused', 'SubmitUnconfirmed'],
  ['is lost when it may have a task', 'unclear', 'SubmitUnconfirmed'],
  ['is refused when nothing was sent', 'not-sent', 'InvalidRequest'],
  ['is refused when it cannot know it', undefined, 'InvalidRequest'],
])(
  'a second attempt that is answered 422 %s, even when the storage has no record',
  async (_what, outcome, type) => {
    world.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
    const sends = outcome && [{ id: 'send-1', attempt: 1, outcome }];
    const heartbeatDetails = { attemptWithoutTask: 1, sends };
    const { failure } = await failureOf(submit(REQUEST, { attempt: 2, heartbeatDetails }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, true]);
  },
);

test('a second attempt sends nothing when the worker of the first was killed while it waited for the answer', async () => {
  world.emulator.next('submit', { kind: 'hang' });
  const first = submit(REQUEST);
  await eventually('the POST arrives', () => world.emulator.calls.length === 1);
  const second = submit(REQUEST, { attempt: 2, heartbeatDetails: noteOf(first) });
  expect((await failureOf(second)).failure.type).toBe('SubmitUnconfirmed');
  await world.close();
  await failureOf(first);
  expect(world.emulator.generations().length).toBeLessThanOrEqual(1);
});

test('a cancellation does not abort the POST, and the task id is returned', async () => {
  const server = await startRawServer();
  const attempt = world.run(world.activitiesAt(server.url).submitVideo, { request: REQUEST });
  const request = await server.nextRequest();
  attempt.cancel();
  // A later exchange with the same server: an abort would have taken effect by then.
  const poll = world.run(world.activitiesAt(server.url).pollVideo, { taskId: 't' });
  replyJson(await server.nextRequest(), { status: 'running' });
  await poll.result;
  expect(request.socket.destroyed).toBe(false);
  replyJson(request, { task_id: 'task-1' });
  await expect(attempt.result).resolves.toMatchObject({ taskId: 'task-1' });
  await closed(request.socket);
  await server.close();
});

test.each([
  [
    'control characters',
    JSON.stringify({ task_id: 't1\u001b[2J; touch x\n', request_id: 'r1' }),
    't1; touch x',
  ],
  ['reversed text', JSON.stringify({ id: 'a\u202eb' }), 'a b'],
  ['half a character', '{"id":"a\\ud800"}', 'a'],
  ['more than an id has', JSON.stringify({ id: 'x'.repeat(1_001) }), expect.stringMatching(/^x{400,}…$/)],
])(
  'a task id with %s, which could be neither shown nor polled, is a lost submit',
  async (_what, body, redacted) => {
    const server = await startRawServer((request) => reply(request, { body }));
    const { submitVideo } = world.activitiesAt(server.url);
    const { failure, details } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    const [, id] =
      /^the task id in the answer must be text of [^:]*: (.*)$/.exec(details.message ?? '') ?? [];
    expect(id).toEqual(redacted);
    await server.close();
  },
);

test('the idempotency key is the same for every attempt and every run of a job, and of an activity without a workflow', async () => {
  const keyOf = async (info: object, request: VideoRequest = REQUEST) => {
    const before = world.emulator.calls.length;
    world.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    await failureOf(submit(request, info));
    expect(world.emulator.calls).toHaveLength(before + 1);
    return world.emulator.calls.at(-1)?.idempotencyKey;
  };
  const inRun = (runId: string) => ({ workflowExecution: { workflowId: 'job-1', runId } });
  const key = await keyOf(inRun('run-1'));
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  const retried = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };
  expect(await keyOf({ ...inRun('run-1'), ...retried })).toBe(key);
  expect(await keyOf(inRun('run-2'))).toBe(key);
  expect(await keyOf(inRun('run-3'), { ...REQUEST, seed: 8 })).not.toBe(key);
  const alone = { workflowExecution: undefined, inWorkflow: false };
  const other = await keyOf({ ...alone, activityId: 'one' });
  expect(await keyOf({ ...alone, activityId: 'one' })).toBe(other);
  expect(await keyOf({ ...alone, activityId: 'two' })).not.toBe(other);
});

test('a request has the extra fields of the profile, and no others', async () => {
  const server = await startRawServer((request) => replyJson(request, { task_id: 'task-1' }));
  const { submitVideo } = world.activitiesAt(server.url, { profile: { requestFields: ['model', 'seed'] } });
  const request = { prompt: 'x', model: { name: 'm1' } };
  await world.run(submitVideo, { request }).result;
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(request);
  for (const wrong of [
    { ...request, style: 'y' },
    { ...request, seed: 'y' },
  ]) {
    const { failure } = await failureOf(world.run(submitVideo, { request: wrong as VideoRequest }));
    expect(failure.type).toBe('InvalidRequest');
  }
  expect(server.requests).toHaveLength(1);
  await server.close();
});

test('an answer that names two tasks is logged as ambiguous', async () => {
  const server = await startRawServer((request) =>
    replyJson(request, { task_id: 'a', data: { task_id: 'b' } }),
  );
  const { submitVideo } = world.activitiesAt(server.url);
  expect(await world.run(submitVideo, { request: REQUEST }).result).toMatchObject({ taskId: 'a' });
  expect(world.everythingReported()).toContain('task_id is a and data.task_id is b');
  await server.close();
});
