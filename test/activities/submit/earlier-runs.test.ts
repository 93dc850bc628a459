import { WorkflowNotFoundError } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { SubmitVideoInput } from '../../../activities';
import { SERVICE_MEMO, TASK_ID_MEMO } from '../../../src/contract/names';
import { failureOf } from '../activity-world';
import { REQUEST, useSubmitWorld } from './submit-world';

type Event = temporal.api.history.v1.IHistoryEvent;

/** What Temporal still has of a run, or why it cannot say it. */
type Run = { events: Event[]; memo?: Record<string, unknown> | Error } | Error;

const here = useSubmitWorld();

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
  ['was never asked to submit', 'is sent', []],
  ['called only other activities', 'is sent', [scheduled(5, 'pollVideo')]],
  ['was refused for certain', 'is sent', [scheduled(5), failed(5, 'videogen.InvalidRequest')]],
  ['lost its submit', 'is lost', [scheduled(5), failed(5, 'videogen.SubmitUnconfirmed')]],
  ['failed in a way of its host', 'is lost', [scheduled(5), failed(5, 'InvalidRequest')]],
  ['failed without saying how', 'is lost', [scheduled(5), failedBy(5)]],
  ['failed in a way of the server', 'is lost', [scheduled(5), failedBy(5, { serverFailureInfo: {} })]],
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

test('a submit after a reset does not take anything but text for a task', async () => {
  await expectLost(submitAfterReset({ own, before: { ...SUBMITTED, memo: { [TASK_ID_MEMO]: 7 } } }));
});

test('a submit after a reset may come after one in a run that Temporal has deleted', async () => {
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

test('a submit after a reset is sent when somebody has decided about exactly that run, and asks no more after a 429', async () => {
  here.emulator.next('submit', { kind: 'rate-limited' });
  await expectLost(submitAfterReset({ own, before: SUBMITTED }, { repeats: ['run/another'] }));
  const repeats = ['run/before'];
  const limited = submitAfterReset({ own, before: SUBMITTED }, { repeats });
  expect((await failureOf(limited)).failure.type).toBe('RateLimited');
  await submitAfterReset({ own, before: SUBMITTED }, { repeats }).result;
  expect(here.posts()).toBe(2);
});

test('a submit after a reset reports the send on record, which has an id, and is asked about once', async () => {
  here.emulator.next('submit', { kind: 'reset' }, { kind: 'rate-limited' });
  const { lostSubmit = '' } = (await failureOf(here.submit())).details;
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

test('a submit after a reset is sent when the policy says so, and counts what it repeats', async () => {
  const prices = { currency: 'USD', table: [{ perSecond: 0.1 }] };
  const service = here.serviceAt(here.emulator.url, { profile: { prices } });
  const client = temporalWith({ own, before: SUBMITTED });
  const info = { workflowExecution: { workflowId: here.job, runId: 'own' } };
  const input = { isReset: true, onLostSubmit: 'resubmit' as const };
  await here.submit(input, { info, client, deps: { service } }).result;
  expect((await here.read()).task?.cost).toMatchObject({ lostSubmits: 1 });
});

test('a submit after a reset that is answered 422 may have been refused for a key that the service knows', async () => {
  here.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
  const attempt = submitAfterReset({ own: { events: [] } });
  expect((await failureOf(attempt)).failure.type).toBe('SubmitUnconfirmed');
});

test('the runs of a job that are read are all those that it was reset from, however often', async () => {
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
])('the runs of a job that are read are also those after a run that %s', async (_, ending) => {
  const runs = { own, before: { events: [ending] }, next: { events: [], memo } };
  expect(await submitAfterReset(runs).result).toMatchObject({ taskId: 'task-1' });
});

test('the runs of a job that are read are those before a retry, but not those before it continued as new by itself', async () => {
  const retried = { own: { events: [startedAfter('first', RETRIED)] }, first: SUBMITTED };
  await expectLost(submitAfterReset(retried), 'first');
  const client = temporalWith({ own: { events: [startedAfter('first', CONTINUED_AS_NEW)] } });
  await submitAfterReset({}, {}, client).result;
  expect(client.read).toEqual(['own']);
});

test('the runs of a job that are read are no runs without a name, and the own submits are known', async () => {
  const events = [resetFrom(''), startedAfter('', RETRIED), scheduled(5)];
  const client = temporalWith({ own: { events } });
  await submitAfterReset({}, {}, client).result;
  expect(client.read).toEqual(['own']);
});

test('the runs of a job that are read are none of an activity without a workflow', async () => {
  const alone = { workflowExecution: undefined, inWorkflow: false, activityId: here.job };
  await here.submit({ request: REQUEST, isReset: true }, { info: alone }).result;
  expect(here.posts()).toBe(1);
});
