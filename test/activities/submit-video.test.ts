import { buffer } from 'node:stream/consumers';
import { defaultPayloadConverter } from '@temporalio/common';
import { HEARTBEAT_EVERY_MS } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import {
  builtInProfile,
  ServiceFault,
  type ServiceProfile,
  type VideoService,
  type VideoServiceOptions,
} from '../../src/service';
import { checkImage, JobRecord, openLinkedImage, StorageFault, storeImage } from '../../src/storage';
import type { Faults } from '../../src/testing';
import { closed, reply, replyJson, startRawServer } from '../service/raw-server';
import { PNG, sha256Of } from '../support/images';
import { eventually } from '../temporal-server/eventually';
import { expectFailure, failureOf, notesOf } from './activity-world';
import { createMemoryWorld } from './memory-world';
import { following, NAMESPACE, noteOf, REQUEST, useSubmitWorld } from './submit-world';

const here = useSubmitWorld({ fetchImages: true });
const { submit } = here;

/** The id of a POST, in the heartbeat and in the record of the job. */
const SEND = expect.any(String);
const SENDING = { id: 'send-3', attempt: 3 };
const workflowExecution = () => ({ workflowId: here.job, runId: 'run-1' });

const submitAt = (baseUrl: string, options: Partial<VideoServiceOptions> = {}) =>
  submit({}, { deps: { service: here.serviceAt(baseUrl, options) } });

test.each<[what: string, request: unknown, problem: string, profile: ServiceProfile | undefined]>([
  ['no prompt', {}, 'prompt is missing', undefined],
  ['no request at all', undefined, 'the request must be a JSON object', undefined],
  [
    'a field that the service does not take',
    { prompt: 'A red fox', seed: 7 },
    'seed is not taken by Kling: leave it out',
    builtInProfile('kling'),
  ],
])('a submit of %s is refused before a byte is sent', async (_what, request, problem, profile) => {
  const service = here.serviceAt(here.emulator.url, { profile });
  const attempt = submit({ request: request as VideoRequest }, { deps: { service } });
  const { details } = await expectFailure(attempt, 'InvalidRequest', 'for good');
  expect(details.message).toContain(problem);
  expect(details.status).toBeUndefined();
  expect(here.posts()).toBe(0);
  expect(notesOf(attempt)).toEqual([{ attemptWithoutTask: 1 }]);
  expect(await here.events()).toEqual([]);
});

test.each<[string, Faults['submit'], string]>([
  ['a 429', { kind: 'rate-limited' }, 'refused'],
  ['a 500', { kind: 'server-error' }, 'unclear'],
  ['a 400', { kind: 'refused', status: 400, message: 'no' }, 'refused'],
])('a submit that got %s notes that it made no task before it throws', async (_what, fault, outcome) => {
  here.emulator.next('submit', fault);
  const attempt = submit();
  await failureOf(attempt);
  expect(noteOf(attempt)).toEqual({ attemptWithoutTask: 1, sends: [{ id: SEND, attempt: 1, outcome }] });
});

test('a submit that could not be sent, because its API key cannot be read, notes that too, and is retryable', async () => {
  const apiKey = () => {
    throw new Error('no such file');
  };
  const attempt = submitAt(here.emulator.url, { apiKey });
  const { failure } = await expectFailure(attempt, 'ServiceUnreachable', 'retryable');
  expect(failure.message).toContain('no such file');
  const sends = [{ id: SEND, attempt: 1, outcome: 'not-sent' }];
  expect(noteOf(attempt)).toEqual({ attemptWithoutTask: 1, sends });
  expect(here.posts()).toBe(0);
});

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
  ['no note', 2, undefined, 1],
  ['an empty note', 2, null, 1],
  ['a task id that is not text', 2, { taskId: 5 }, 1],
  ['the note of the attempt before the last', 3, { attemptWithoutTask: 1 }, 2],
  ['a note of its own number', 2, { attemptWithoutTask: 2 }, 1],
  ['the note of one that was sending before a reset', 2, { attemptWithoutTask: 1, sends: [SENDING] }, 3],
  ['that note in the first one after a reset', 1, { attemptWithoutTask: 1, sends: [SENDING] }, 3],
])('an attempt that finds %s sends nothing', async (_what, attempt, heartbeatDetails, lost) => {
  const run = submit({}, { info: { attempt, heartbeatDetails } });
  const { details } = await expectFailure(run, 'SubmitUnconfirmed', 'for good');
  expect(details).toEqual({
    attempt,
    message: `attempt ${lost} ended before its answer was known`,
    onLostSubmit: 'hold',
    lostSubmit: lost === SENDING.attempt ? SENDING.id : expect.any(String),
  });
  expect(here.posts()).toBe(0);
  expect(notesOf(run)).toEqual([]);
});

test('a second attempt sends nothing when the worker of the first was killed while it waited for the answer', async () => {
  let cut: (fault: Error) => void = () => undefined;
  let posts = 0;
  const start: VideoService['start'] = () => {
    posts += 1;
    return new Promise((_, reject) => {
      cut = reject;
    });
  };
  const deps = { service: { ...here.service, start } };
  const first = submit({}, { deps });
  await eventually('the request is sent', () => posts === 1);
  const second = submit({}, { ...following(first), deps });
  expect((await failureOf(second)).failure.type).toBe('SubmitUnconfirmed');
  cut(new ServiceFault('cut', {}));
  await failureOf(first);
  expect(posts).toBe(1);
});

test('a second attempt returns the task that the first one noted, whether or not the storage has a record or can be read', async () => {
  const info = { attempt: 2, heartbeatDetails: { taskId: 'task_noted' } };
  const read = () => Promise.reject(new StorageFault('the disk hangs'));
  for (const deps of [{}, { storage: { ...here.storage, read } }])
    expect(await submit({}, { info, deps }).result).toMatchObject({ taskId: 'task_noted' });
  expect(here.posts()).toBe(0);
});

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
  const attempt = submit({ onLostSubmit: 'resubmit' }, { info });
  await failureOf(attempt);
  const [unclear, lostSend] = before.sends;
  const own = { id: SEND, attempt: 2, service: 'a' };
  expect(notesOf(attempt)).toEqual([
    { sends: [unclear, lostSend, own] },
    { attemptWithoutTask: 2, sends: [unclear, { ...own, outcome: 'refused' }, lostSend] },
  ]);
});

test('of a note that somebody else wrote, only what has the right form counts', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'no' });
  const sends = [{ id: 'send-1', attempt: 1, outcome: 'not-sent', service: 5 }];
  const wrong = { attemptWithoutTask: 1, taskId: 2, sends };
  const { failure, details } = await failureOf(submit({}, { info: { attempt: 2, heartbeatDetails: wrong } }));
  expect([failure.type, details.mayHaveTask]).toEqual(['InvalidRequest', undefined]);
});

test('the note names the service of the request, and of the task', async () => {
  const attempt = submit({}, { deps: { defaultService: 'a' } });
  const { taskId } = await attempt.result;
  expect(notesOf(attempt)).toEqual([
    { sends: [{ id: SEND, attempt: 1, service: 'a' }] },
    { taskId, service: 'a' },
  ]);
  const second = submit({}, { ...following(attempt), deps: { defaultService: 'b' } });
  expect(await second.result).toMatchObject({ taskId, service: 'a' });
});

test('a cancellation does not abort the POST, and the task id is returned', async () => {
  const server = await startRawServer();
  const attempt = submitAt(server.url);
  const request = await server.nextRequest();
  attempt.cancel();
  // A later exchange with the same server: an abort would have taken effect by then.
  const { pollVideo } = here.worker({ service: here.serviceAt(server.url) });
  const poll = here.run(pollVideo, { taskId: 't' });
  replyJson(await server.nextRequest(), { status: 'running' });
  await poll.result;
  expect(request.socket.destroyed).toBe(false);
  replyJson(request, { task_id: 'task-1' });
  await expect(attempt.result).resolves.toMatchObject({ taskId: 'task-1' });
  await closed(request.socket);
  await server.close();
});

test('a task id that could be neither shown nor polled is a lost submit', async () => {
  const body = JSON.stringify({ task_id: 't1\u001b[2J; touch x\n', request_id: 'r1' });
  const server = await startRawServer((request) => reply(request, { body }));
  const { details } = await expectFailure(submitAt(server.url), 'SubmitUnconfirmed', 'for good');
  expect(details.message).toMatch(/^the task id in the answer must be text of [^:]*: t1; touch x$/);
  await server.close();
});

test('what is doubtful in the answer to a submit is logged', async () => {
  const start = async () => ({ taskId: 'a', doubts: ['task_id is a and data.task_id is b'] });
  const { submit, linesOf } = createMemoryWorld(undefined, { service: { start } });
  await submit().result;
  const doubt = 'task_id is a and data.task_id is b';
  expect(linesOf('ambiguousAnswer')).toEqual([{ taskId: 'a', doubt }]);
  const clear = createMemoryWorld(undefined, { service: { start: async () => ({ taskId: 'a' }) } });
  await clear.submit().result;
  expect(clear.linesOf('ambiguousAnswer')).toEqual([]);
});

test('the idempotency key is the same for every attempt and every run of a job, and of an activity without a workflow', async () => {
  const keyOf = async (info: object, request: VideoRequest = REQUEST) => {
    here.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    const before = here.posts();
    await failureOf(submit({ request }, { info }));
    expect(here.posts()).toBe(before + 1);
    return here.posted().at(-1)?.idempotencyKey;
  };
  const key = await keyOf({});
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await keyOf({ attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } })).toBe(key);
  expect(await keyOf({ workflowExecution: workflowExecution() })).toBe(key);
  expect(await keyOf({}, { ...REQUEST, seed: 8 })).not.toBe(key);
  const alone = { workflowExecution: undefined, inWorkflow: false };
  const other = await keyOf({ ...alone, activityId: 'one' });
  expect(await keyOf({ ...alone, activityId: 'one' })).toBe(other);
  expect(await keyOf({ ...alone, activityId: 'two' })).not.toBe(other);
});

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
  const attempt = submit({}, { info: { workflowExecution: workflowExecution(), ...info }, client });
  const task = await attempt.result.catch(() => undefined);
  if (task !== undefined) return undefined;
  const { failure, details } = await failureOf(attempt);
  expect(failure.type).toBe('SubmitUnconfirmed');
  expect(here.posts()).toBe(0);
  return details;
}

test.each([
  ['a first attempt that was scheduled again, by another clock, may come after others', 999, 'run-1/test/0'],
  ['a first attempt that was scheduled again may come after others', 1_001, 'run-1/test/0'],
  ['a first attempt that was scheduled once is the first', 1_000, undefined],
])('%s', async (_what, currentAttemptScheduledTimestampMs, lost) => {
  const info = { attempt: 1, scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs };
  const details = await lostFor(info);
  expect(details?.lostSubmit).toBe(lost);
  if (lost) expect(details?.message).toContain('was reset or paused in Temporal');
});

test('a second attempt is scheduled later than the first, without a reset', async () => {
  const scheduled = { scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs: 9_000 };
  const noted = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };
  expect(await lostFor({ ...noted, ...scheduled })).toBeUndefined();
});

/** Temporal is not asked whether the job is being cancelled. */
const scheduledNow = () => ({
  scheduledTimestampMs: Date.now(),
  currentAttemptScheduledTimestampMs: Date.now(),
});

describe('a submit that no worker took for a while', () => {
  interface Described {
    type: string;
    cancelled?: boolean;
    parent?: string;
  }
  const job = (more: Partial<Described> = {}): Described => ({ type: 'generateVideo', ...more });
  /** Submits after so long, at a Temporal that describes these workflows, of which the job is the first. */
  function submitAfter(waitedMs: number, workflows: Described[]) {
    const asked: string[] = [];
    const getHandle = (workflowId: string) => ({
      describe: async () => {
        const { type, cancelled, parent } = workflows[asked.push(workflowId) - 1] ?? job();
        if (type === '') throw new Error('no route');
        const parentExecution = parent === undefined ? undefined : { workflowId: parent, runId: 'run-2' };
        const workflowExtendedInfo = cancelled === undefined ? undefined : { cancelRequested: cancelled };
        return { type, raw: { workflowExtendedInfo, workflowExecutionInfo: { parentExecution } } };
      },
    });
    const sinceMs = Date.now() - waitedMs;
    const scheduled = { scheduledTimestampMs: sinceMs, currentAttemptScheduledTimestampMs: sinceMs };
    const info = { workflowExecution: workflowExecution(), ...scheduled };
    return { asked, ...submit({}, { info, client: { connection: {}, workflow: { getHandle } } }) };
  }
  const batch = (more: Partial<Described> = {}) => job({ type: 'generateVideos', ...more });

  test.each<[what: string, workflows: Described[], isSent: boolean]>([
    ['is not sent if its job was cancelled', [job({ cancelled: true })], false],
    [
      'is not sent if the batch was',
      [job({ cancelled: false, parent: 'foxes' }), batch({ cancelled: true })],
      false,
    ],
    ['is sent if neither was', [job({ parent: 'foxes' }), batch()], true],
    [
      'is sent if a workflow of the host was',
      [job({ parent: 'foxes' }), job({ type: 'film', cancelled: true })],
      true,
    ],
    ['is sent if Temporal does not say', [job({ type: '' })], true],
  ])('%s', async (_what, workflows, isSent) => {
    const { asked, result } = submitAfter(5_000, workflows);
    if (isSent) await result;
    else await expect(result).rejects.toThrow('nothing was sent, because the job was cancelled');
    expect(here.posts()).toBe(isSent ? 1 : 0);
    expect(asked).toEqual([here.job, 'foxes'].slice(0, workflows.length));
  });

  test('or for a moment only is sent without asking', async () => {
    const { asked, result } = submitAfter(-1_000, [job({ cancelled: true })]);
    await result;
    expect(asked).toEqual([]);
  });
});

describe('after attempts on workers that could not decrypt their input, a submit', () => {
  const undecrypted = (lastRun: number): Pending => ({
    activityId: 'submit',
    lastFailure: undecryptedAfter(lastRun),
  });
  const limited = { applicationFailureInfo: { type: 'videogen.RateLimited' } };

  test.each<[what: string, pending: Pending[], note: object | undefined, lost: number | undefined]>([
    ['is sent when there were no others', [undecrypted(0)], undefined, undefined],
    ['finds the one before them that was killed', [undecrypted(1)], undefined, 1],
    ['finds the one after a refusal that was killed', [undecrypted(2)], { attemptWithoutTask: 1 }, 2],
    ['is sent when the one before them was refused', [undecrypted(1)], { attemptWithoutTask: 1 }, undefined],
    ['or on others finds the last one', [{ activityId: 'submit', lastFailure: limited }], undefined, 3],
    ['or on none finds the last one', [{ activityId: 'submit' }], undefined, 3],
    [
      'finds the last one if they were of another activity',
      [{ ...undecrypted(0), activityId: 'poll' }],
      undefined,
      3,
    ],
  ])('%s', async (_what, pending, heartbeatDetails, lost) => {
    const { client, asked } = temporalWith(pending);
    const info = { attempt: 4, activityId: 'submit', ...scheduledNow() };
    const details = await lostFor({ ...info, heartbeatDetails }, client);
    expect([details?.message, details?.lostSubmit]).toEqual(
      lost === undefined
        ? [undefined, undefined]
        : [`attempt ${lost} ended before its answer was known`, `run-1/submit/${lost}`],
    );
    expect(asked).toEqual([workflowExecution()]);
  });

  test('does not ask Temporal about them when the last attempt noted what it did', async () => {
    const { client, asked } = temporalWith([undecrypted(0)]);
    const info = { attempt: 4, activityId: 'submit', ...scheduledNow() };
    const sending = { ...info, heartbeatDetails: { sends: [SENDING] } };
    expect(await lostFor(sending, client)).toMatchObject({ lostSubmit: SENDING.id });
    expect(await lostFor({ ...info, heartbeatDetails: { attemptWithoutTask: 3 } }, client)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe('a submit that is pending while its job is cancelled', () => {
  const pending = (note: unknown, attempt = 1, more: Partial<Pending> = {}): Pending => ({
    activityId: '1',
    activityType: { name: 'submitVideo' },
    attempt,
    ...(note !== undefined && {
      heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(note)] },
    }),
    ...more,
  });
  const inspect = (all: Pending[] | undefined, more = {}) => {
    const info = { isLocal: true, workflowExecution: workflowExecution(), ...more };
    return here.run(here.worker().inspectPendingSubmit, undefined, info, temporalWith(all).client).result;
  };
  const task = { taskId: 'task-1', service: 'a' };
  const sends = [{ ...SENDING, service: 'a' }];
  const refused = { attemptWithoutTask: 1, sends: [{ ...SENDING, outcome: 'refused' }] };

  test.each<[what: string, pending: Pending[] | undefined, found: object | undefined]>([
    [
      'has its task, at the service that the note names',
      [pending({ taskId: 'no' }, 1, { activityType: { name: 'pollVideo' } }), pending(task)],
      { ...task, sends: [] },
    ],
    ['may be lost while it is sending', [pending({ sends })], { sends }],
    ['has no task by a note of another form', [pending({ sends, taskId: 5 })], { sends }],
    [
      'may be lost if an earlier attempt is, although the last one was refused',
      [pending({ attemptWithoutTask: 2, sends }, 3)],
      { attemptWithoutTask: 2, sends },
    ],
    [
      'may be lost if an attempt left nothing',
      [pending(undefined, 2)],
      { sends: [{ id: 'run-1/test/1', attempt: 1 }] },
    ],
    [
      'made no task if that attempt could not decrypt its input',
      [pending(undefined, 2, { lastFailure: undecryptedAfter(0) })],
      undefined,
    ],
    ['made no task if its attempts were refused', [pending(refused, 2)], undefined],
    ['made no task if Temporal has none', [], undefined],
    ['made no task if Temporal has no list', undefined, undefined],
  ])('%s', async (_what, all, found) => {
    expect(await inspect(all)).toEqual(found);
  });

  test('is not looked for by an activity without a workflow', async () => {
    const alone = { workflowExecution: undefined, inWorkflow: false };
    expect(await inspect([pending(task)], alone)).toBeUndefined();
  });
});

describe('a reference to a stored image', () => {
  const image = checkImage(PNG, 'shop');
  const withImage: VideoRequest = { prompt: 'A red fox', image_url: image.url };
  const submitImage = (deps = {}, more = {}) => submit({ request: withImage, ...more }, { deps });

  test('is refused by us when the image is not there, or the service cannot reach it, before a byte is sent', async () => {
    const missing = await failureOf(submitImage({ gatewayUrl: 'http://127.0.0.1:1' }));
    expect([missing.failure.type, missing.failure.nonRetryable]).toEqual(['InvalidRequest', true]);
    expect(missing.details.message).toContain('not in the storage');
    await storeImage(here.storage, image);
    for (const name of ['shop/../jobs/x.json', `shop/${sha256Of(PNG)}.svg`, '']) {
      const request = { ...withImage, image_url: `videogen-image:${name}` };
      expect((await failureOf(submit({ request }))).details.message).toContain('not in the storage');
    }
    const unreachable = await failureOf(submitImage());
    expect(unreachable.failure.type).toBe('InvalidRequest');
    expect(unreachable.failure.message).toContain('VIDEOGEN_GATEWAY_URL');
    expect(here.posts()).toBe(0);
  });

  test('becomes a link that the service can fetch, the same for a repeated submit, and that is in no note, log or record', async () => {
    await storeImage(here.storage, image);
    // As a gateway serves it.
    const { url, close } = await startRawServer(async (asked) => {
      const { content, contentType } =
        (await openLinkedImage(here.storage, new URL(asked.line.split(' ')[1] ?? '', 'http://images'))) ?? {};
      reply(asked, {
        body: content && (await buffer(content)),
        headers: { 'content-type': `${contentType}` },
      });
    });
    here.emulator.next('submit', { kind: 'reset' });
    const deps = { gatewayUrl: `${url}/` };
    const lost = submitImage(deps, { onLostSubmit: 'resubmit' });
    await failureOf(lost);
    const again = submit({ request: withImage, onLostSubmit: 'resubmit' }, { ...following(lost), deps });
    const { taskId, record = '' } = await again.result;
    await close();
    const task = here.emulator.generations().at(-1);
    const { image: fetched, request } = task ?? {};
    expect(task?.taskId).toBe(taskId);
    expect(fetched).toEqual({ bytes: PNG.length, sha256: sha256Of(PNG), contentType: 'image/png' });
    const [first, second] = here.posted();
    expect(second).toMatchObject({ body: first?.body, idempotencyKey: first?.idempotencyKey });
    const link = new URL(request?.image_url ?? '');
    expect(link.origin).toBe(url);
    const owner = { namespace: NAMESPACE, job: here.job };
    const { entries } = await new JobRecord(here.storage, owner, record).read();
    const written = JSON.stringify(entries);
    expect(written).toContain(image.url);
    for (const text of [written, here.everythingReported()]) {
      expect(text).not.toContain(link.searchParams.get('signature'));
      expect(text).not.toContain(url);
    }
  });
});
