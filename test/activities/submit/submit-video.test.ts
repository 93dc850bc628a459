import { defaultPayloadConverter } from '@temporalio/common';
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
import { type ActivityWorld, createActivityWorld, failureOf, notesOf, startAttempt } from '../activity-world';
import { createMemoryWorld } from '../memory-world';
import { useSubmitWorld } from './submit-world';

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

test.each([
  ['no prompt', {}, 'prompt is missing'],
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

test('an answer that names two tasks is logged as ambiguous', async () => {
  const server = await startRawServer((request) =>
    replyJson(request, { task_id: 'a', data: { task_id: 'b' } }),
  );
  const { submitVideo } = world.activitiesAt(server.url);
  expect(await world.run(submitVideo, { request: REQUEST }).result).toMatchObject({ taskId: 'a' });
  expect(world.everythingReported()).toContain('task_id is a and data.task_id is b');
  await server.close();
});

const here = useSubmitWorld();
const lost = (attempt: number) => `attempt ${attempt} ended before its answer was known`;
const SENDING = { id: 'send-1', attempt: 1 };
const workflowExecution = () => ({ workflowId: here.job, runId: 'run-1' });

/** What Temporal says of the pending activities of a workflow, in states that a real server shows only for moments. */
interface Pending {
  activityId: string;
  activityType?: { name: string };
  attempt?: number;
  heartbeatDetails?: object;
  lastFailure?: { applicationFailureInfo?: { type?: string } };
}
function temporalWith(pendingActivities: Pending[] | undefined) {
  const asked: unknown[] = [];
  const answer = (question: unknown) => {
    asked.push(question);
    return { pendingActivities };
  };
  const client = {
    options: {
      namespace: 'films',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] },
    },
    connection: {},
    workflow: {
      getHandle: (workflowId: string, runId: string) => ({
        describe: async () => ({ raw: answer({ workflowId, runId }) }),
      }),
    },
  };
  return { client, asked };
}
const undecryptedAfter = (attempt: number) => ({
  applicationFailureInfo: { type: `videogen.NotDecrypted.after-attempt-${attempt}` },
});

/** The failure of the lost submit that an attempt finds; undefined if it finds none, and sends. */
async function lostFor(info: object, client: object = { connection: {} }) {
  const attempt = here.submit({}, { info: { workflowExecution: workflowExecution(), ...info }, client });
  const task = await attempt.result.catch(() => undefined);
  if (task !== undefined) return undefined;
  const { failure, details } = await failureOf(attempt);
  expect(failure.type).toBe('SubmitUnconfirmed');
  expect(here.posts()).toBe(0);
  return details;
}

test('a refused attempt keeps what those before it have noted', async () => {
  here.emulator.next('submit', { kind: 'rate-limited' });
  const before = {
    attemptWithoutTask: 1,
    sends: [
      { id: 'send-0', attempt: 0, outcome: 'unclear' },
      { ...SENDING, service: 'a' },
    ],
  };
  const info = { attempt: 2, heartbeatDetails: before };
  const attempt = here.submit({ onLostSubmit: 'resubmit' }, { info });
  await failureOf(attempt);
  const [unclear, lostSend] = before.sends;
  const own = { id: expect.any(String), attempt: 2, service: 'a' };
  expect(notesOf(attempt)).toEqual([
    { sends: [unclear, lostSend, own] },
    { attemptWithoutTask: 2, sends: [unclear, { ...own, outcome: 'refused' }, lostSend] },
  ]);
});

test('of a note that somebody else wrote, only what has the right form counts', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'no' });
  const sends = [{ id: 'send-1', attempt: 1, outcome: 'not-sent', service: 5 }];
  const wrong = { attemptWithoutTask: 1, taskId: 2, sends };
  const attempt = here.submit({}, { info: { attempt: 2, heartbeatDetails: wrong } });
  const { failure, details } = await failureOf(attempt);
  expect([failure.type, details.mayHaveTask]).toEqual(['InvalidRequest', undefined]);
});

test('the note names the service of the request, and of the task', async () => {
  const attempt = here.submit({}, { deps: { defaultService: 'a' } });
  const { taskId } = await attempt.result;
  expect(notesOf(attempt)).toEqual([
    { sends: [{ id: expect.any(String), attempt: 1, service: 'a' }] },
    { taskId, service: 'a' },
  ]);
  const info = { attempt: 2, heartbeatDetails: attempt.beats.at(-1) };
  const second = here.submit({}, { info, deps: { defaultService: 'b' } });
  expect(await second.result).toMatchObject({ taskId, service: 'a' });
});

describe('a first attempt', () => {
  const scheduled = { scheduledTimestampMs: 1_000 };

  test.each([999, 1_001])('that was scheduled again, at %d, may come after another one', async (at) => {
    const details = await lostFor({ attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: at });
    expect(details?.message).toContain('was reset or paused in Temporal');
    expect(details?.lostSubmit).toBe('run-1/test/0');
  });

  test('that was scheduled once is the first', async () => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: 1_000 };
    expect(await lostFor(info)).toBeUndefined();
  });

  test('is the only one that may come after a reset: retries are scheduled later', async () => {
    const noted = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };
    expect(
      await lostFor({ ...noted, ...scheduled, currentAttemptScheduledTimestampMs: 9_000 }),
    ).toBeUndefined();
  });
});

describe('attempts on workers that could not decrypt their input', () => {
  const lostAfter = (
    lastFailure: Pending['lastFailure'],
    heartbeatDetails?: unknown,
    more: Pending[] = [],
  ) => {
    const { client, asked } = temporalWith([
      ...more,
      { activityId: 'submit', ...(lastFailure && { lastFailure }) },
    ]);
    return { details: lostFor({ attempt: 4, activityId: 'submit', heartbeatDetails }, client), asked };
  };

  test('sent nothing', async () => {
    const { details, asked } = lostAfter(undecryptedAfter(0));
    expect(await details).toBeUndefined();
    expect(asked).toEqual([workflowExecution()]);
  });

  test('do not hide the attempt before them that was killed', async () => {
    const first = await lostAfter(undecryptedAfter(1)).details;
    expect(first).toMatchObject({ message: lost(1), lostSubmit: 'run-1/submit/1' });
    const second = await lostAfter(undecryptedAfter(2), { attemptWithoutTask: 1 }).details;
    expect(second?.message).toBe(lost(2));
  });

  test('do not make a refusal before them a lost submit', async () => {
    expect(await lostAfter(undecryptedAfter(1), { attemptWithoutTask: 1 }).details).toBeUndefined();
  });

  test.each<[string, Pending['lastFailure']]>([
    ['failed otherwise', { applicationFailureInfo: { type: 'videogen.RateLimited' } }],
    ['timed out', {}],
    ['left no failure', undefined],
  ])('are not those that %s', async (_what, lastFailure) => {
    expect((await lostAfter(lastFailure).details)?.message).toBe(lost(3));
  });

  test('are not those of another activity', async () => {
    const other = { activityId: 'poll', lastFailure: undecryptedAfter(0) };
    expect((await lostAfter(undefined, undefined, [other]).details)?.message).toBe(lost(3));
  });

  test('are not asked for when the last attempt noted how it ended', async () => {
    const { details, asked } = lostAfter(undecryptedAfter(0), { attemptWithoutTask: 3 });
    expect(await details).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe('a submit that is pending while its job is cancelled', () => {
  const noted = (note: unknown) => ({
    heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(note)] },
  });
  const submit = (more: Partial<Pending>): Pending => ({
    activityId: '1',
    activityType: { name: 'submitVideo' },
    attempt: 1,
    ...more,
  });
  const inspect = (pending: Pending[] | undefined, info = {}) =>
    startAttempt(
      here.worker().inspectPendingSubmit,
      undefined,
      { isLocal: true, workflowExecution: workflowExecution(), ...info },
      [],
      temporalWith(pending).client,
    ).result;

  test('has its task, at the service that the note names', async () => {
    const other = { activityId: '0', activityType: { name: 'pollVideo' }, ...noted({ taskId: 'no' }) };
    const task = { taskId: 'task-1', service: 'a' };
    expect(await inspect([other, submit(noted(task))])).toEqual({ ...task, sends: [] });
  });

  test('may be lost while it is sending, with the id and the service of the send', async () => {
    const sends = [{ ...SENDING, service: 'a' }];
    expect(await inspect([submit(noted({ sends }))])).toEqual({ sends });
    expect(await inspect([submit(noted({ sends, taskId: 5 }))])).toEqual({ sends });
  });

  test('may be lost if an earlier attempt is, although the last one was refused', async () => {
    const note = { attemptWithoutTask: 2, sends: [SENDING] };
    expect(await inspect([submit({ attempt: 3, ...noted(note) })])).toEqual(note);
  });

  test('may be lost if an attempt left nothing, unless that could not decrypt its input', async () => {
    expect(await inspect([submit({ attempt: 2 })])).toEqual({
      sends: [{ id: 'run-1/test/1', attempt: 1 }],
    });
    expect(await inspect([submit({ attempt: 2, lastFailure: undecryptedAfter(0) })])).toBeUndefined();
  });

  test('is none when Temporal has none, or its attempts were refused', async () => {
    expect(await inspect([])).toBeUndefined();
    expect(await inspect(undefined)).toBeUndefined();
    const refused = { attemptWithoutTask: 1, sends: [{ ...SENDING, outcome: 'refused' }] };
    expect(await inspect([submit({ attempt: 2, ...noted(refused) })])).toBeUndefined();
    const alone = { workflowExecution: undefined, inWorkflow: false };
    expect(await inspect([submit(noted({ taskId: 'task-1' }))], alone)).toBeUndefined();
  });
});
