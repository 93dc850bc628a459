import { randomUUID } from 'node:crypto';
import { POST_BEFORE_DEADLINE_MS } from '../../../src/contract/policies';
import { ServiceFault, type VideoService } from '../../../src/service';
import { StorageFault, type VideoStorage } from '../../../src/storage';
import { SlowWrites, slowStorage } from '../../support/slow-storage';
import { failureOf } from '../activity-world';
import { REQUEST, useSubmitWorld } from './submit-world';

const here = useSubmitWorld();
const { submit } = here;

const RESET = { kind: 'reset' } as const;
const UNAUTHORIZED = { kind: 'refused', status: 401, message: 'no' } as const;
const LIMITED = { kind: 'rate-limited' } as const;
const resubmit = { onLostSubmit: 'resubmit' } as const;
const LONG_AGO = { at: new Date(0).toISOString() };

/** Another run sends a request, by default long ago, and nothing is heard of it again. */
async function sendElsewhere(more: { service?: string; at?: string } = LONG_AGO): Promise<string> {
  const id = randomUUID();
  await here.read();
  await here.record.add({ event: 'sending', id, request: REQUEST, ...LONG_AGO, ...more });
  return id;
}
const NOW = () => ({ at: new Date().toISOString() });
const noteOf = ({ beats }: { beats: unknown[] }) => beats.at(-1);
const following = (attempt: { beats: unknown[] }, number = 2) => ({
  info: { attempt: number, heartbeatDetails: noteOf(attempt) },
});

test.each(['hold', 'resubmit', 'fail'] as const)(
  'a request that another run sent a moment ago has a few seconds for its answer: nothing is sent, on lost submit %s',
  async (onLostSubmit) => {
    await sendElsewhere(NOW());
    const { failure, details } = await failureOf(submit({ onLostSubmit }));
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(details).toMatchObject({ retryAfter: 3, mayHaveTask: true });
    expect(here.posts()).toBe(0);
  },
);

test('a request that another run sent and that is answered meanwhile has its task', async () => {
  const send = await sendElsewhere(NOW());
  const first = submit();
  await failureOf(first);
  await here.record.add({ event: 'task', send, taskId: 'task-1', service: 'b' });
  expect(await submit({}, following(first)).result).toMatchObject({ taskId: 'task-1', service: 'b' });
  expect(here.posts()).toBe(0);
});

test('a request that another run sent is lost if it is not answered then, or if it is older: the failure names it', async () => {
  const lostSubmit = await sendElsewhere({ service: 'b', ...NOW() });
  const first = submit();
  await failureOf(first);
  const { failure, details } = await failureOf(submit({}, following(first)));
  expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
  expect(details).toEqual({
    attempt: 2,
    lostSubmit,
    service: 'b',
    onLostSubmit: 'hold',
    message: expect.stringMatching(/^a request was sent at .* and its answer is not on record$/),
  });
  const older = await sendElsewhere();
  expect((await failureOf(submit({}, following(first)))).details.lostSubmit).toBe(older);
  expect(here.posts()).toBe(0);
});

test.each([
  ['of the job', { onLostSubmit: 'fail' as const }, {}, 'fail'],
  ['of the service', { service: 'c' }, {}, 'fail'],
  ['of the worker', {}, { onLostSubmit: 'fail' as const }, 'fail'],
  ['by default', {}, {}, 'hold'],
])('a lost submit ends as the policy %s says', async (_whose, input, deps, policy) => {
  here.emulator.next('submit', RESET);
  const services = { c: { service: here.service, onLostSubmit: 'fail' as const } };
  const { failure, details } = await failureOf(submit(input, { deps: { services, ...deps } }));
  expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
  const { lastSend } = await here.read();
  expect(details).toMatchObject({ onLostSubmit: policy, lostSubmit: lastSend?.id });
});

test('a lost submit that somebody decided to repeat is sent again, with the same key, and asked about no more', async () => {
  here.emulator.next('submit', RESET, LIMITED);
  const { lostSubmit = '' } = (await failureOf(submit())).details;
  const repeats = [lostSubmit];
  const limited = submit({ repeats });
  expect((await failureOf(limited)).failure.type).toBe('RateLimited');
  expect((await here.read()).lastSend).toMatchObject({ repeats });
  await submit({ repeats }, following(limited)).result;
  const keys = here.emulator.calls.slice(-3).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
  expect(await here.events()).toEqual(['sending', 'sending', 'refused', 'sending', 'task']);
});

test('a lost submit that only the decision knows of leaves a 422 open: the service may know the key', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
  const { failure } = await failureOf(submit({ repeats: ['run/deleted'] }));
  expect(failure.type).toBe('SubmitUnconfirmed');
});

test('a lost submit stays decided in a later run, which pays for one task', async () => {
  here.emulator.next('submit', RESET, UNAUTHORIZED);
  const { lostSubmit = '' } = (await failureOf(submit())).details;
  await failureOf(submit({ repeats: [lostSubmit] }));
  await submit().result;
  expect(here.posts()).toBe(3);
});

test('a lost submit stays possible after the decision: refusals then, and in a later run, leave a task open', async () => {
  here.emulator.next('submit', RESET, UNAUTHORIZED, UNAUTHORIZED);
  const { lostSubmit = '' } = (await failureOf(submit())).details;
  const repeated = await failureOf(submit({ repeats: [lostSubmit] }));
  const later = await failureOf(submit());
  for (const { failure, details } of [repeated, later]) {
    expect(failure.type).toBe('Unauthorized');
    expect(details.mayHaveTask).toBe(true);
  }
});

test('a lost submit is asked about even after a decision about another one', async () => {
  const [first, second] = [await sendElsewhere(), await sendElsewhere()];
  const { details } = await failureOf(submit({ repeats: [second] }));
  expect(details.lostSubmit).toBe(first);
  expect((await failureOf(submit({ repeats: ['of another job'] }))).details.lostSubmit).toBe(second);
  expect(here.posts()).toBe(0);
  await submit({ repeats: [first, second] }).result;
});

test('a lost submit that the policy repeats is still asked about in a later run with another policy', async () => {
  here.emulator.next('submit', LIMITED);
  const lostSubmit = await sendElsewhere();
  await failureOf(submit(resubmit));
  expect((await failureOf(submit())).details.lostSubmit).toBe(lostSubmit);
  expect(here.posts()).toBe(1);
});

test.each([
  ['although the job names another one', { service: 'b' }, {}],
  ['although the worker has another default', {}, { defaultService: 'b' }],
])(
  'only the service that got a lost submit knows its key, so it is repeated there, %s',
  async (_what, input, deps) => {
    await sendElsewhere({ service: 'a' });
    expect((await failureOf(submit(input, { deps }))).details).toMatchObject({ service: 'a' });
    expect(await submit({ ...input, ...resubmit }, { deps }).result).toMatchObject({ service: 'a' });
  },
);

test('only the service that got a lost submit knows its key, so it is repeated there, also by decision, and at one without a name', async () => {
  const lostSubmit = await sendElsewhere();
  const task = await submit({ service: 'b', repeats: [lostSubmit] }, { deps: { defaultService: 'b' } })
    .result;
  expect(task.service).toBeUndefined();
});

test('only the service that got a lost submit knows its key, so it is repeated there, also if only the notes of the attempt before know it', async () => {
  const heartbeatDetails = { sends: [{ id: 'send-1', attempt: 1, service: 'a' }] };
  const run = submit({ service: 'b', ...resubmit }, { info: { attempt: 2, heartbeatDetails } });
  expect(await run.result).toMatchObject({ service: 'a' });
});

test.each([
  ['as the policy says', resubmit],
  ['by decision', {}],
])(
  'only the service that got a lost submit knows its key, so it is repeated there, and is held, %s, on a worker without that service',
  async (_what, input) => {
    const lostSubmit = await sendElsewhere({ service: 'gone' });
    const repeats = input === resubmit ? [] : [lostSubmit];
    const { failure, details } = await failureOf(submit({ ...input, repeats }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(details).toMatchObject({ lostSubmit, onLostSubmit: 'hold' });
    expect(details.message).toContain('nothing was sent again, because this worker has no service gone');
    expect(here.posts()).toBe(0);
  },
);

test('a lost submit at a service that the worker does not have ends the job if the policy says so', async () => {
  await sendElsewhere({ service: 'gone' });
  const { details } = await failureOf(submit({ onLostSubmit: 'fail' }));
  expect(details).toMatchObject({ onLostSubmit: 'fail' });
});

test('a service that the worker does not have refuses a new request', async () => {
  const { failure, details } = await failureOf(submit({ service: 'gone' }));
  expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
  expect(details.mayHaveTask).toBeUndefined();
});

describe('after a lost submit, every failure says that a task may exist:', () => {
  const lost = { attempt: 2, heartbeatDetails: { sends: [{ id: 'send-1', attempt: 1 }] } };
  const down: Partial<VideoStorage> = { read: () => Promise.reject(new StorageFault('no such bucket')) };

  test.each<[string, string, object, object, object?]>([
    ['a refusal', 'Unauthorized', {}, {}],
    ['a wrong request', 'InvalidRequest', { request: { prompt: 'A fox', duration: 99 } }, {}],
    ['no storage', 'StorageFailed', {}, down],
    ['the deadline', 'DeadlineExceeded', {}, {}, { scheduleToCloseTimeoutMs: POST_BEFORE_DEADLINE_MS }],
  ])('%s', async (_what, type, input, broken, info = {}) => {
    if (type === 'Unauthorized') here.emulator.next('submit', UNAUTHORIZED);
    const deps = { storage: { ...here.storage, ...broken } };
    const attempt = submit({ ...resubmit, ...input }, { info: { ...lost, ...info }, deps });
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual([type, type !== 'StorageFailed']);
    expect(details).toMatchObject({ mayHaveTask: true });
    expect(details.message).toContain('a task may still exist, because attempt 1 ended before its answer');
    expect(details.lostSubmit).toBeUndefined();
  });
});

describe('an answer that leaves it open whether a task exists', () => {
  const SERVER_ERROR = { kind: 'server-error', status: 500 } as const;

  test('is remembered by the next attempt and by a later run', async () => {
    here.emulator.next('submit', SERVER_ERROR, UNAUTHORIZED, UNAUTHORIZED);
    const first = submit();
    const { details: failed } = await failureOf(first);
    expect(failed).toMatchObject({ status: 500, mayHaveTask: true });
    expect(failed.lostSubmit).toBeUndefined();
    for (const options of [following(first), {}])
      expect((await failureOf(submit({}, options))).details).toMatchObject({
        status: 401,
        mayHaveTask: true,
      });
  });

  test('is remembered although the storage fails after it', async () => {
    here.emulator.next('submit', SERVER_ERROR, UNAUTHORIZED);
    const create: VideoStorage['create'] = (key, text) =>
      text.includes('"refused"')
        ? Promise.reject(new StorageFault('no space left'))
        : here.storage.create(key, text);
    const first = submit({}, { deps: { storage: { ...here.storage, create } } });
    await failureOf(first);
    const read = () => Promise.reject(new StorageFault('down'));
    const second = submit({}, { ...following(first), deps: { storage: { ...here.storage, read } } });
    expect((await failureOf(second)).details).toMatchObject({ mayHaveTask: true });
    const third = await failureOf(submit({}, following(second, 3)));
    expect(third.details).toMatchObject({ status: 401, mayHaveTask: true });
  });

  test.each([
    ['nothing but a 5xx', {}, 'ServiceFailed', true],
    ['that it is a limit', { limited: true, noTask: true }, 'RateLimited', undefined],
    ['that it made no task', { noTask: true }, 'ServiceFailed', undefined],
    ['that a task may exist', { taskMayExist: true, limited: true }, 'SubmitUnconfirmed', undefined],
  ])('is told apart by what else the service says: %s', async (_what, facts, type, mayHaveTask) => {
    const service: VideoService = {
      ...here.service,
      start: () => Promise.reject(new ServiceFault('answered', { status: 500, ...facts })),
    };
    const { failure, details } = await failureOf(submit({}, { deps: { service } }));
    expect([failure.type, details.mayHaveTask]).toEqual([type, mayHaveTask]);
  });
});

test('two runs that submit the same job at once send one request, and have one task', async () => {
  const runs = [submit(), submit(), submit()];
  const ends = await Promise.allSettled(runs.map(({ result }) => result));
  expect(here.posts()).toBe(1);
  const [won] = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  for (const [index, end] of ends.entries()) {
    const run = runs[index];
    if (end.status === 'fulfilled' || run === undefined) continue;
    const { failure } = await failureOf(run);
    expect(['StorageFailed', 'ServiceUnreachable']).toContain(failure.type);
    expect(failure.nonRetryable).toBe(false);
    expect(await submit({}, following(run)).result).toMatchObject({ taskId: won?.taskId });
  }
  expect(await here.events()).toEqual(['sending', 'task']);
});

describe('a write to the record', () => {
  /** A storage in which the first write of the entry of this number lands late, although its writer has given it up. */
  const holdingBack = (number: string) => {
    const writes = new SlowWrites({ key: new RegExp(`^jobs/.*/${number}`), delayMs: 'forever' });
    return { deps: { storage: slowStorage(here.storage, writes) }, writes };
  };

  test('of a refusal that lands after the next task erases nothing', async () => {
    here.emulator.next('submit', LIMITED);
    const { deps, writes } = holdingBack('0002');
    const first = submit({}, { deps });
    await failureOf(first);
    const { taskId } = await submit({}, following(first)).result;
    await writes.land();
    expect(await here.events()).toEqual(['sending', 'sending', 'task']);
    expect(await submit().result).toMatchObject({ taskId });
    expect(here.posts()).toBe(2);
  });

  test('that announces a request and lands late announces nothing', async () => {
    const { deps, writes } = holdingBack('0001');
    const first = submit({}, { deps });
    const { failure } = await failureOf(first);
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    await writes.land();
    expect(await here.events()).toEqual(['refused']);
    await submit().result;
    expect(here.posts()).toBe(1);
  });

  test('that was made although the storage says it failed is recognized', async () => {
    const create: VideoStorage['create'] = async (...entry) => {
      await here.storage.create(...entry);
      throw new StorageFault('the connection was cut');
    };
    await submit({}, { deps: { storage: { ...here.storage, create } } }).result;
    expect(await here.events()).toEqual(['sending', 'task']);
    expect(here.posts()).toBe(1);
  });
});
