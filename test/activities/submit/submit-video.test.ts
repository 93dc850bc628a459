import { createVideoActivities } from '../../../activities';
import type { VideoRequest } from '../../../src/contract/request';
import { createFileStorage, StorageFault } from '../../../src/storage';
import { freePort } from '../../../src/temporal-server/loopback-port';
import type { Faults } from '../../../src/testing';
import { closed, type RawServer, reply, replyJson, startRawServer } from '../../service/raw-server';
import { recordsIn } from '../../support/stored-files';
import { eventually } from '../../temporal-server/eventually';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';

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

describe('a submit', () => {
  it.each<[string, VideoRequest]>([
    ['/v1/videos/text-to-video', REQUEST],
    ['/v1/videos/image-to-video', { ...REQUEST, image_url: 'https://example.com/fox.png' }],
  ])('posts to %s and returns the task id', async (path, request) => {
    const attempt = submit(request);
    const { taskId } = await attempt.result;
    expect(world.emulator.generations()).toMatchObject([{ taskId, request }]);
    expect(world.emulator.calls).toMatchObject([
      { call: 'submit', path, body: request, contentType: 'application/json', authorized: true },
    ]);
  });

  it.each([
    ['no prompt', {}, 'prompt is missing'],
    ['a duration beyond the limit', { prompt: 'x', duration: 11 }, 'duration must be at most 10 (was 11)'],
    ['a misspelt field', { prompt: 'x', aspectRatio: '1:1' }, '"aspectRatio": not a field of the request'],
    ['no request at all', undefined, 'the request must be a JSON object'],
  ])('of %s is refused before a byte is sent', async (_what, request, problem) => {
    const attempt = submit(request);
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
    expect(details.message).toContain(problem);
    expect(details.status).toBeUndefined();
    expect(world.emulator.calls).toHaveLength(0);
    expect(attempt.beats).toEqual([{ attemptWithoutTask: 1 }]);
    expect(await recordsIn(world.folder)).toEqual([]);
  });

  it('heartbeats before and after the POST', async () => {
    const attempt = submit(REQUEST);
    const { taskId } = await attempt.result;
    // The task comes first: the attempt may end before it can return it.
    expect(attempt.beats).toEqual([{ sends: [{ id: SEND, attempt: 1 }] }, { taskId }]);
  });

  it.each<[string, Faults['submit'], string]>([
    ['a 429', { kind: 'rate-limited' }, 'refused'],
    ['a 500', { kind: 'server-error' }, 'unclear'],
    ['a 400', { kind: 'refused', status: 400, message: 'no' }, 'refused'],
  ])('that got %s notes that it made no task before it throws', async (_what, fault, outcome) => {
    world.emulator.next('submit', fault);
    const attempt = submit(REQUEST);
    await failureOf(attempt);
    expect(noteOf(attempt)).toEqual({ attemptWithoutTask: 1, sends: [{ id: SEND, attempt: 1, outcome }] });
    expect(world.emulator.generations()).toHaveLength(0);
  });

  it('that could not be sent notes that too, and is retryable', async () => {
    const { submitVideo } = world.activitiesAt(`http://127.0.0.1:${await freePort()}`);
    const attempt = world.run(submitVideo, { request: REQUEST });
    const { failure } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(noteOf(attempt)).toEqual({
      attemptWithoutTask: 1,
      sends: [{ id: SEND, attempt: 1, outcome: 'not-sent' }],
    });
  });

  it('whose API key cannot be read is not sent, and is retryable', async () => {
    const { submitVideo } = world.activitiesAt(world.emulator.url, {
      apiKey: () => {
        throw new Error('no such file');
      },
    });
    const attempt = world.run(submitVideo, { request: REQUEST });
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(details.message).toBe('no such file');
    expect(noteOf(attempt)).toEqual({
      attemptWithoutTask: 1,
      sends: [{ id: SEND, attempt: 1, outcome: 'not-sent' }],
    });
    expect(world.emulator.calls).toHaveLength(0);
  });
});

describe('a second attempt', () => {
  it('is sent when the first one noted its refusal', async () => {
    world.emulator.next('submit', { kind: 'rate-limited' }, { kind: 'server-error' });
    const first = submit(REQUEST);
    await failureOf(first);
    const second = submit(REQUEST, { attempt: 2, heartbeatDetails: noteOf(first) });
    await failureOf(second);
    const third = submit(REQUEST, { attempt: 3, heartbeatDetails: noteOf(second) });
    await third.result;
    expect(world.emulator.calls).toHaveLength(3);
    expect(world.emulator.generations()).toHaveLength(1);
  });

  it('notes that it is sending, and then how it ended', async () => {
    world.emulator.next('submit', { kind: 'rate-limited' });
    const second = submit(REQUEST, { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } });
    await failureOf(second);
    expect(second.beats).toEqual([
      { sends: [{ id: SEND, attempt: 2 }] },
      { attemptWithoutTask: 2, sends: [{ id: SEND, attempt: 2, outcome: 'refused' }] },
    ]);
  });

  it('remembers an earlier lost submit after a refusal', async () => {
    world.emulator.next('submit', { kind: 'reset' }, { kind: 'rate-limited' });
    const { submitVideo } = world.activities;
    const resubmit = { request: REQUEST, onLostSubmit: 'resubmit' } as const;
    const first = world.run(submitVideo, resubmit);
    await failureOf(first);
    const [{ sends }] = first.beats as [{ sends: [{ id: string }] }];
    const second = world.run(submitVideo, resubmit, { attempt: 2, heartbeatDetails: noteOf(first) });
    await failureOf(second);
    const why = 'attempt 1 ended before its answer was known';
    expect(noteOf(second)).toEqual({
      attemptWithoutTask: 2,
      sends: [{ id: SEND, attempt: 2, outcome: 'refused' }, ...sends],
    });
    const holding = submit(REQUEST, { attempt: 3, heartbeatDetails: noteOf(second) });
    const { details } = await failureOf(holding);
    expect(details).toMatchObject({ message: why, lostSubmit: sends[0].id });
    expect(world.emulator.calls).toHaveLength(2);
  });

  it.each([
    ['no note', 2, undefined],
    ['an empty note', 2, null],
    ['another note', 2, { bytes: 5 }],
    ['a note that is not a number', 2, { attemptWithoutTask: '1' }],
    ['a text', 2, 'attemptWithoutTask'],
    ['a task id that is not text', 2, { taskId: 5 }],
    ['the note of the attempt before the last', 3, { attemptWithoutTask: 1 }],
    ['a note of its own number', 2, { attemptWithoutTask: 2 }],
  ])('that finds %s sends nothing', async (_what, attempt, heartbeatDetails) => {
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

  it.each([1, 2])(
    'sends nothing when an attempt was sending, as attempt %d after a reset',
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

  it('returns the task that the first one noted, although the storage cannot be read', async () => {
    const read = () => Promise.reject(new StorageFault('the disk hangs'));
    const storage = { ...createFileStorage(world.folder), read };
    const { submitVideo } = createVideoActivities({ service: world.service, storage });
    const info = { attempt: 2, heartbeatDetails: { taskId: 'task_noted' } };
    const second = world.run(submitVideo, { request: REQUEST }, info);
    expect(await second.result).toMatchObject({ taskId: 'task_noted' });
  });

  it('returns the task that the first one noted, even when the storage has no record of it', async () => {
    const second = submit(REQUEST, { attempt: 2, heartbeatDetails: { taskId: 'task_noted' } });
    expect(await second.result).toMatchObject({ taskId: 'task_noted' });
    expect(world.emulator.calls).toHaveLength(0);
  });

  it.each([
    ['is lost when the service may know the key', 'refused', 'SubmitUnconfirmed'],
    ['is lost when it may have a task', 'unclear', 'SubmitUnconfirmed'],
    ['is refused when nothing was sent', 'not-sent', 'InvalidRequest'],
    ['is refused when it cannot know it', undefined, 'InvalidRequest'],
  ])('that is answered 422 %s, even when the storage has no record', async (_what, outcome, type) => {
    world.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
    const sends = outcome && [{ id: 'send-1', attempt: 1, outcome }];
    const heartbeatDetails = { attemptWithoutTask: 1, sends };
    const { failure } = await failureOf(submit(REQUEST, { attempt: 2, heartbeatDetails }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, true]);
  });

  it('sends nothing when the worker of the first was killed while it waited for the answer', async () => {
    world.emulator.next('submit', { kind: 'hang' });
    const first = submit(REQUEST);
    await eventually('the POST arrives', () => world.emulator.calls.length === 1);
    const second = submit(REQUEST, { attempt: 2, heartbeatDetails: noteOf(first) });
    expect((await failureOf(second)).failure.type).toBe('SubmitUnconfirmed');
    await world.close();
    await failureOf(first);
    expect(world.emulator.generations().length).toBeLessThanOrEqual(1);
  });

  it.each<[string, Faults['submit']]>([
    ['cut after it arrived', { kind: 'reset' }],
    ['answered with half a JSON', { kind: 'bad-json' }],
    ['answered without a task id', { kind: 'empty', status: 202 }],
  ])('sends nothing when the first was %s and the report of that was lost', async (_what, fault) => {
    world.emulator.next('submit', fault);
    const first = submit(REQUEST);
    await failureOf(first);
    const second = submit(REQUEST, { attempt: 2, heartbeatDetails: noteOf(first) });
    expect((await failureOf(second)).failure.type).toBe('SubmitUnconfirmed');
    expect(world.emulator.calls).toHaveLength(1);
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

describe('a submit without a usable answer is unconfirmed and never repeated,', () => {
  it.each<[string, Faults['submit']]>([
    ['when the connection is reset after the request arrived', { kind: 'reset' }],
    ['when the answer is half a JSON', { kind: 'bad-json' }],
    ['when the answer is an empty 202', { kind: 'empty', status: 202 }],
  ])('%s', async (_what, fault) => {
    world.emulator.next('submit', fault);
    const { failure } = await failureOf(submit(REQUEST));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    // The task exists and is paid for, so the request must not be repeated.
    expect(world.emulator.generations()).toHaveLength(1);
  });

  let server: RawServer;
  afterEach(() => server?.close());

  it('when the connection is cut without an answer', async () => {
    server = await startRawServer();
    const attempt = world.run(world.activitiesAt(server.url).submitVideo, { request: REQUEST });
    const { socket } = await server.nextRequest();
    socket.destroy();
    const { failure } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(server.requests).toHaveLength(1);
  });

  it('when no answer comes in time', async () => {
    server = await startRawServer();
    const timeouts = { submit: 200 };
    const { submitVideo } = world.activitiesAt(server.url, { timeouts });
    const failed = failureOf(world.run(submitVideo, { request: REQUEST }));
    await server.nextRequest();
    const { failure, details } = await failed;
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(details.message).toBe('no complete answer within 200 ms');
    expect(server.requests).toHaveLength(1);
  });

  it('when the answer trickles and never ends', async () => {
    server = await startRawServer(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"task_id":"t"');
      const timer = setInterval(() => socket.write(' '), 20);
      socket.once('close', () => clearInterval(timer));
    });
    const timeouts = { submit: 300, poll: 300 };
    const { submitVideo, pollVideo } = world.activitiesAt(server.url, { timeouts });
    const { failure, details } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(details.message).toBe('no complete answer within 300 ms');
    const { failure: ofPoll } = await failureOf(world.run(pollVideo, { taskId: 't' }));
    expect([ofPoll.type, ofPoll.nonRetryable]).toEqual(['ServiceUnreachable', false]);
  });

  it.each([
    [
      'control characters',
      JSON.stringify({ task_id: 't1\u001b[2J; touch x\n', request_id: 'r1' }),
      't1; touch x',
    ],
    ['reversed text', JSON.stringify({ id: 'a\u202eb' }), 'a b'],
    ['half a character', '{"id":"a\\ud800"}', 'a'],
    ['more than an id has', JSON.stringify({ id: 'x'.repeat(1_001) }), expect.stringMatching(/^x{400,}…$/)],
  ])('when the task id has %s, and could be neither shown nor polled', async (_what, body, redacted) => {
    server = await startRawServer((request) => reply(request, { body }));
    const { submitVideo } = world.activitiesAt(server.url);
    const { failure, details } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    const [, id] =
      /^the task id in the answer must be text of [^:]*: (.*)$/.exec(details.message ?? '') ?? [];
    expect(id).toEqual(redacted);
  });

  it.each([
    ['nothing known', '{"ok":true}', '{"ok":true}', undefined],
    [
      'an error in a 200',
      '{"code":1102,"message":"No balance"}',
      '{"code":1102,"message":"No balance"}',
      '1102',
    ],
    ['an empty id', '{"task_id":""}', '{"task_id":""}', undefined],
    ['nothing', '', 'it is empty', undefined],
    [
      'a very long text',
      `{"x":"${'y'.repeat(9_000)}"}`,
      expect.stringMatching(/^\{"x":"y{400,600}…$/),
      undefined,
    ],
  ])('when the answer holds %s', async (_what, body, message, code) => {
    server = await startRawServer((request) => reply(request, { body }));
    const { submitVideo } = world.activitiesAt(server.url);
    const { failure, details } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(details).toMatchObject({ attempt: 1, status: 200, onLostSubmit: 'hold' });
    expect(details.code).toBe(code);
    const [, quoted] = /^the answer names no task: (.*)$/.exec(details.message ?? '') ?? [];
    expect(quoted).toEqual(message);
  });

  it('even when the service quotes the key, which is redacted', async () => {
    server = await startRawServer((request) =>
      replyJson(request, { message: `hello ${world.emulator.apiKey}` }),
    );
    const { submitVideo } = world.activitiesAt(server.url);
    const { details } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    expect(details.message).toBe('the answer names no task: {"message":"hello …"}');
  });
});

describe('a cancellation during the POST', () => {
  it('does not abort it, and the task id is returned', async () => {
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
});

describe('the idempotency key', () => {
  const keyOf = async (request: VideoRequest, info = {}) => {
    await submit(request, info).result;
    const key = world.emulator.calls.at(-1)?.idempotencyKey;
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    return key;
  };
  const runOf = (workflowId: string, runId = 'run') => ({ workflowExecution: { workflowId, runId } });
  const retried = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };

  it('is the same for every attempt, for every run and for every order of fields', async () => {
    const key = await keyOf(REQUEST, runOf('job-1', 'run-1'));
    expect(await keyOf(REQUEST, { ...runOf('job-1', 'run-1'), ...retried })).toBe(key);
    expect(await keyOf(REQUEST, runOf('job-1', 'run-2'))).toBe(key);
    expect(await keyOf({ seed: 7, resolution: '720p', prompt: 'A red fox' }, runOf('job-1'))).toBe(key);
  });

  it('differs for another request, workflow or namespace', async () => {
    const keys = [
      await keyOf(REQUEST, runOf('job-1')),
      await keyOf({ ...REQUEST, seed: 8 }, runOf('job-1')),
      await keyOf({ ...REQUEST, prompt: 'A blue fox' }, runOf('job-1')),
      await keyOf({ ...REQUEST, image_url: 'https://example.com/fox.png' }, runOf('job-1')),
      await keyOf(REQUEST, runOf('job-2')),
      await keyOf(REQUEST, { ...runOf('job-1'), namespace: 'other' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('is made from the activity when it runs without a workflow', async () => {
    const alone = { workflowExecution: undefined, inWorkflow: false };
    const key = await keyOf(REQUEST, { ...alone, activityId: 'one' });
    expect(await keyOf(REQUEST, { ...alone, activityId: 'one' })).toBe(key);
    expect(await keyOf(REQUEST, { ...alone, activityId: 'two' })).not.toBe(key);
  });
});

describe('a profile', () => {
  let server: RawServer;
  beforeEach(async () => {
    server = await startRawServer((request) => replyJson(request, { task_id: 'task-1', status: 'running' }));
  });
  afterEach(() => server.close());

  it('passes the extra fields of the request through, and no others', async () => {
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
  });
});

it('an answer that names two tasks is logged as ambiguous', async () => {
  const server = await startRawServer((request) =>
    replyJson(request, { task_id: 'a', data: { task_id: 'b' } }),
  );
  const { submitVideo } = world.activitiesAt(server.url);
  expect(await world.run(submitVideo, { request: REQUEST }).result).toMatchObject({ taskId: 'a' });
  expect(world.everythingReported()).toContain('task_id is a and data.task_id is b');
  await server.close();
});
