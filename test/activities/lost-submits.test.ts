import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { SubmitVideoInput } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import { SERVICE_MEMO, TASK_ID_MEMO } from '../../src/contract/names';
import { POST_BEFORE_DEADLINE_MS } from '../../src/contract/policies';
import { ServiceFault, type VideoService } from '../../src/service';
import { StorageFault, type VideoStorage } from '../../src/storage';
import type { Faults } from '../../src/testing';
import { expectFailure, failureOf } from './activity-world';
import { following, REQUEST, useSubmitWorld, withoutWaits } from './submit-world';

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

/** The id of a lost submit of the job, whose answer is a reset. */
async function loseSubmit(...next: Faults['submit'][]): Promise<string> {
  here.emulator.next('submit', RESET, ...next);
  const { details } = await expectFailure(submit(), 'SubmitUnconfirmed', 'for good');
  return details.lostSubmit ?? '';
}

test.each(['hold', 'resubmit'] as const)(
  'a request that another run sent a moment ago has a few seconds for its answer, on lost submit %s',
  async (onLostSubmit) => {
    const send = await sendElsewhere(NOW());
    const first = submit({ onLostSubmit });
    const { details } = await expectFailure(first, 'ServiceUnreachable', 'retryable');
    expect(details).toMatchObject({ retryAfter: 3, mayHaveTask: true });
    await here.record.add({ event: 'task', send, taskId: 'task-1', service: 'b' });
    expect(await submit({}, following(first)).result).toMatchObject({ taskId: 'task-1', service: 'b' });
    expect(here.posts()).toBe(0);
  },
);

test('a request that another run sent is lost if it is not answered then, or if it is older: the failure names it', async () => {
  const lostSubmit = await sendElsewhere({ service: 'b', ...NOW() });
  const first = submit();
  await failureOf(first);
  const { details } = await expectFailure(submit({}, following(first)), 'SubmitUnconfirmed', 'for good');
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
  const { details } = await expectFailure(
    submit(input, { deps: { services, ...deps } }),
    'SubmitUnconfirmed',
    'for good',
  );
  const { lastSend } = await here.read();
  expect(details).toMatchObject({ onLostSubmit: policy, lostSubmit: lastSend?.id });
});

test('a lost submit that somebody decided to repeat is sent again, with the same key, and not asked about again', async () => {
  const lostSubmit = await loseSubmit(LIMITED);
  const repeats = [lostSubmit];
  const limited = submit({ repeats });
  expect((await failureOf(limited)).failure.type).toBe('RateLimited');
  expect((await here.read()).lastSend).toMatchObject({ repeats });
  await submit({ repeats }, following(limited)).result;
  const keys = here.emulator.calls.slice(-3).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
  expect(await here.events()).toEqual(['sending', 'sending', 'refused', 'sending', 'task']);
});

test.each<[what: string, input: object, before: string | undefined, type: FailureType]>([
  ['only the decision to repeat it knows', { repeats: ['run/deleted'] }, undefined, 'SubmitUnconfirmed'],
  ['an earlier run had sent it', {}, 'in the record', 'SubmitUnconfirmed'],
  ['an earlier attempt had sent it', {}, 'refused', 'SubmitUnconfirmed'],
  ['no earlier attempt had sent it', {}, 'not-sent', 'InvalidRequest'],
])(
  'a 422 may be about a key that the service knows if %s: %j, %s, %s',
  async (_what, input, before, type) => {
    if (before === 'in the record') {
      here.emulator.next('submit', UNAUTHORIZED);
      await failureOf(submit());
    }
    here.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
    const sends = [{ id: 'send-1', attempt: 1, outcome: before }];
    const noted = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1, sends } };
    const info = before === 'refused' || before === 'not-sent' ? noted : {};
    await expectFailure(submit(input, { info }), type, 'for good');
  },
);

test('a lost submit stays decided in a later run, and possible: refusals leave a task open', async () => {
  const lostSubmit = await loseSubmit(UNAUTHORIZED, UNAUTHORIZED);
  const repeated = await failureOf(submit({ repeats: [lostSubmit] }));
  const later = await failureOf(submit());
  for (const { failure, details } of [repeated, later]) {
    expect(failure.type).toBe('Unauthorized');
    expect(details.mayHaveTask).toBe(true);
  }
  await submit().result;
  expect(here.posts()).toBe(4);
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

describe('only the service that got a lost submit knows its key, so it is repeated there,', () => {
  test('whatever the job and the worker name now', async () => {
    const deps = { defaultService: 'b' };
    await sendElsewhere({ service: 'a' });
    expect((await failureOf(submit({ service: 'b' }, { deps }))).details).toMatchObject({ service: 'a' });
    expect(await submit({ ...resubmit, service: 'b' }, { deps }).result).toMatchObject({ service: 'a' });
  });

  test('also at one without a name', async () => {
    const lostSubmit = await sendElsewhere();
    const decided = { service: 'b', repeats: [lostSubmit] };
    const task = await submit(decided, { deps: { defaultService: 'b' } }).result;
    expect(task.service).toBeUndefined();
  });

  test('also if only the notes of the attempt before know it', async () => {
    const heartbeatDetails = { sends: [{ id: 'send-1', attempt: 1, service: 'a' }] };
    const run = submit({ service: 'b', ...resubmit }, { info: { attempt: 2, heartbeatDetails } });
    expect(await run.result).toMatchObject({ service: 'a' });
  });

  test.each([
    ['as the policy says', resubmit],
    ['by decision', {}],
  ])('or is held, %s, on a worker without that service', async (_what, input) => {
    const lostSubmit = await sendElsewhere({ service: 'gone' });
    const repeats = input === resubmit ? [] : [lostSubmit];
    const { details } = await expectFailure(submit({ ...input, repeats }), 'SubmitUnconfirmed', 'for good');
    expect(details).toMatchObject({ lostSubmit, onLostSubmit: 'hold' });
    const nothing = 'nothing was sent again, because this worker has no service gone';
    const why = /^a request was sent at \S+ and its answer is not on record; /;
    const said = details.message?.replace(input === resubmit ? why : '', '');
    expect(said?.slice(0, nothing.length)).toBe(nothing);
    expect(here.posts()).toBe(0);
  });

  test('or ends the job there, if the policy says so', async () => {
    await sendElsewhere({ service: 'gone' });
    const { details } = await failureOf(submit({ onLostSubmit: 'fail' }));
    expect(details).toMatchObject({ onLostSubmit: 'fail' });
  });
});

test('a service that the worker does not have refuses a new request', async () => {
  const { details } = await expectFailure(submit({ service: 'gone' }), 'InvalidRequest', 'for good');
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

test('an announcement of a request that lands late, after its writer has given it up, announces nothing', () =>
  withoutWaits(async (unanswered) => {
    let land: (() => Promise<boolean>) | undefined;
    const create: VideoStorage['create'] = (...entry) => {
      if (land !== undefined) return here.storage.create(...entry);
      land = () => here.storage.create(...entry);
      return unanswered();
    };
    await expectFailure(
      submit({}, { deps: { storage: { ...here.storage, create } } }),
      'StorageFailed',
      'retryable',
    );
    expect(await land?.()).toBe(false);
    expect(await here.events()).toEqual(['refused']);
    await submit().result;
    expect(here.posts()).toBe(1);
  }));

type Event = temporal.api.history.v1.IHistoryEvent;

/** What Temporal still has of a run, or why it cannot say it. */
type Run = { events: Event[]; memo?: Record<string, unknown> | Error } | Error;

/** A server with these runs of the job. */
function temporalWith(runs: Record<string, Run>) {
  const read: string[] = [];
  const run = (workflowId: string, runId: string) => {
    const found = workflowId === here.job ? runs[runId] : undefined;
    if (found === undefined) throw new WorkflowNotFoundError('no such run', workflowId, runId);
    if (found instanceof Error) throw found;
    return found;
  };
  const getHandle = (workflowId: string, runId: string) => ({
    fetchHistory: async () => {
      read.push(runId);
      return { events: run(workflowId, runId).events };
    },
    describe: async () => {
      const { memo } = run(workflowId, runId);
      if (memo instanceof Error) throw memo;
      return { memo };
    },
  });
  return { connection: {}, workflow: { getHandle }, read };
}

const submitAfterReset = (
  runs: Record<string, Run>,
  input: Partial<SubmitVideoInput> = {},
  client = temporalWith(runs),
) => {
  const info = { workflowExecution: { workflowId: here.job, runId: 'own' } };
  return here.submit({ isReset: true, ...input }, { info, client });
};

const resetFrom = (baseRunId: string): Event => ({ workflowTaskFailedEventAttributes: { baseRunId } });
const startedAfter = (continuedExecutionRunId: string, initiator: number): Event => ({
  workflowExecutionStartedEventAttributes: { continuedExecutionRunId, initiator },
});
const CONTINUED_AS_NEW = 1;
const RETRIED = 2;
// Temporal's ids are Longs, which print as numbers.
const scheduled = (eventId: number, name = 'submitVideo'): Event => ({
  eventId: eventId as never,
  activityTaskScheduledEventAttributes: { activityType: { name } },
});
const failedBy = (scheduledEventId: number, failure?: temporal.api.failure.v1.IFailure): Event => ({
  activityTaskFailedEventAttributes: {
    scheduledEventId: scheduledEventId as never,
    ...(failure && { failure }),
  },
});
const failed = (scheduledEventId: number, type: string) =>
  failedBy(scheduledEventId, { applicationFailureInfo: { type } });

const own = { events: [resetFrom('before')] };
const SUBMITTED = { events: [scheduled(5)] };
const memo = { [TASK_ID_MEMO]: 'task-1', [SERVICE_MEMO]: 'b' };

async function expectLost(attempt: ReturnType<typeof submitAfterReset>, run = 'before'): Promise<void> {
  const { failure, details } = await failureOf(attempt);
  expect(failure.type).toBe('SubmitUnconfirmed');
  expect(details.message).toContain(`run ${run}`);
  expect(details.lostSubmit).toBe(`run/${run}`);
  expect(here.posts()).toBe(0);
}

test('a submit after a reset takes the task that the memo of an earlier run names, at its service, and writes it down', async () => {
  const runs = { own, before: { ...SUBMITTED, memo } };
  expect(await submitAfterReset(runs, { service: 'a' }).result).toMatchObject({
    taskId: 'task-1',
    service: 'b',
  });
  expect((await here.read()).task).toMatchObject({ taskId: 'task-1', service: 'b' });
  expect(here.posts()).toBe(0);
});

test.each<[string, 'is sent' | 'is lost', Event[]]>([
  ['called only other activities', 'is sent', [scheduled(5, 'pollVideo')]],
  ['was refused for certain', 'is sent', [scheduled(5), failed(5, 'videogen.InvalidRequest')]],
  ['lost its submit', 'is lost', [scheduled(5), failed(5, 'videogen.SubmitUnconfirmed')]],
  ['failed in a way of its host', 'is lost', [scheduled(5), failed(5, 'InvalidRequest')]],
  ['failed without saying how', 'is lost', [scheduled(5), failedBy(5)]],
  ['ended during the submit', 'is lost', [scheduled(5)]],
  [
    'was refused at first, and ended during a second submit',
    'is lost',
    [scheduled(5), failed(5, 'videogen.RateLimited'), scheduled(9)],
  ],
  [
    'had another activity refused while it submitted',
    'is lost',
    [scheduled(5), scheduled(6, 'pollVideo'), failed(6, 'videogen.InvalidRequest')],
  ],
])('a submit after a reset after a run that %s %s', async (_, end, events) => {
  const attempt = submitAfterReset({ own, before: { events } });
  if (end === 'is lost') return expectLost(attempt);
  await attempt.result;
  expect(here.posts()).toBe(1);
});

test('a submit after a reset takes only text for the id of a task', async () => {
  await expectLost(submitAfterReset({ own, before: { ...SUBMITTED, memo: { [TASK_ID_MEMO]: 7 } } }));
});

test('a submit after a reset may be lost in a run that Temporal has deleted', async () => {
  await expectLost(submitAfterReset({ own }));
  const deleted = new WorkflowNotFoundError('gone', here.job, 'before');
  await expectLost(submitAfterReset({ own, before: { ...SUBMITTED, memo: deleted } }));
  const byServer = Object.assign(new Error('grpc'), { code: 5, details: '', metadata: {} });
  await expectLost(submitAfterReset({ own, before: byServer }));
});

test('a submit after a reset waits while Temporal cannot be asked', async () => {
  const unavailable = Object.assign(new Error('grpc'), { code: 14, details: '', metadata: {} });
  for (const before of [unavailable, new Error('no route')]) {
    const attempt = submitAfterReset({ own, before });
    await expect(attempt.result).rejects.toThrow(before.message);
    expect(attempt.beats.at(-1)).toMatchObject({ attemptWithoutTask: 1 });
  }
  expect(here.posts()).toBe(0);
});

test('a submit after a reset is sent when somebody has decided about exactly that run, also after a 429', async () => {
  here.emulator.next('submit', LIMITED);
  await expectLost(submitAfterReset({ own, before: SUBMITTED }, { repeats: ['run/another'] }));
  const repeats = ['run/before'];
  const limited = submitAfterReset({ own, before: SUBMITTED }, { repeats });
  expect((await failureOf(limited)).failure.type).toBe('RateLimited');
  await submitAfterReset({ own, before: SUBMITTED }, { repeats }).result;
  expect(here.posts()).toBe(2);
});

test('a submit after a reset reports the send on record, which has an id, and is asked about once', async () => {
  const lostSubmit = await loseSubmit(LIMITED);
  const after = { attempt: 2, heartbeatDetails: { attemptWithoutTask: 1 } };
  const again = (repeats: string[], info = {}) =>
    here.submit(
      { isReset: true, repeats },
      {
        info: { workflowExecution: { workflowId: here.job, runId: 'own' }, ...info },
        client: temporalWith({ own, before: SUBMITTED }),
      },
    );
  expect((await failureOf(again([], after))).details.lostSubmit).toBe(lostSubmit);
  const limited = again([lostSubmit]);
  expect((await failureOf(limited)).failure.type).toBe('RateLimited');
  await again([lostSubmit], { attempt: 2, heartbeatDetails: limited.beats.at(-1) }).result;
  expect(here.posts()).toBe(3);
});

test('a submit after a reset that is answered 422 may have been refused for a key that the service knows', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
  const attempt = submitAfterReset({ own: { events: [] } });
  expect((await failureOf(attempt)).failure.type).toBe('SubmitUnconfirmed');
});

test('a submit after a reset reads all runs that the job was reset from, however often', async () => {
  const second = { events: [resetFrom('first')] };
  await expectLost(
    submitAfterReset({ own: { events: [resetFrom('second')] }, second, first: SUBMITTED }),
    'first',
  );
});

test.each<[string, Event]>([
  ['continued as new', { workflowExecutionContinuedAsNewEventAttributes: { newExecutionRunId: 'next' } }],
  ['failed and was retried', { workflowExecutionFailedEventAttributes: { newExecutionRunId: 'next' } }],
  ['timed out and was retried', { workflowExecutionTimedOutEventAttributes: { newExecutionRunId: 'next' } }],
])('a submit after a reset also reads the runs after one that %s', async (_, ending) => {
  const runs = { own, before: { events: [ending] }, next: { events: [], memo } };
  expect(await submitAfterReset(runs).result).toMatchObject({ taskId: 'task-1' });
});

test('a submit after a retry reads the runs before it, but not those before the job continued as new by itself', async () => {
  const retried = { own: { events: [startedAfter('first', RETRIED)] }, first: SUBMITTED };
  await expectLost(submitAfterReset(retried), 'first');
  const client = temporalWith({ own: { events: [startedAfter('first', CONTINUED_AS_NEW)] } });
  await submitAfterReset({}, {}, client).result;
  expect(client.read).toEqual(['own']);
});

test('a submit after a reset reads no run without a name, and knows the submits of its own run', async () => {
  const events = [resetFrom(''), startedAfter('', RETRIED), scheduled(5)];
  const client = temporalWith({ own: { events } });
  await submitAfterReset({}, {}, client).result;
  expect(client.read).toEqual(['own']);
});

test('a submit of an activity without a workflow reads no runs', async () => {
  const alone = { workflowExecution: undefined, inWorkflow: false, activityId: here.job };
  await here.submit({ request: REQUEST, isReset: true }, { info: alone }).result;
  expect(here.posts()).toBe(1);
});

test('a send that the note leaves open is not lost if the record of the job has how it ended', async () => {
  const send = await sendElsewhere({ service: 'a' });
  await here.record.add({ event: 'refused', send, outcome: 'refused' });
  const heartbeatDetails = { attemptWithoutTask: 1, sends: [{ id: send, attempt: 1, service: 'a' }] };
  await submit({}, { info: { attempt: 2, heartbeatDetails } }).result;
  expect(here.posts()).toBe(1);
});

test.each([
  [1, 'retryable'],
  [60, 'for good'],
] as const)(
  'a service that has 10 s for its submit, and asks for a pause of %d s, is given up only if its turn is over then: %s',
  async (retryAfter, end) => {
    here.emulator.next('submit', { kind: 'rate-limited', retryAfter });
    await expectFailure(submit({ withinMs: 10_000 }), 'RateLimited', end);
  },
);
