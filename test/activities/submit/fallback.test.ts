import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { SubmitVideoInput } from '../../../activities/submit/submit-video';
import { FAILURES, type FailureRow } from '../../../src/contract/failure-table';
import { createFileStorage } from '../../../src/storage';
import { recordsIn } from '../../support/stored-files';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const request = { prompt: 'A red fox' };
const REFUSED = { kind: 'refused', status: 401, message: 'no' } as const;

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(() => world.close());

/** A worker with two services: which one gets a request is what counts here, so both are the same emulator. */
const activities = () => {
  const { service } = world;
  return createVideoActivities({
    services: { a: service, b: service },
    storage: createFileStorage(world.folder),
  });
};

const submit = (service: string, more: Partial<SubmitVideoInput> = {}, info = {}) =>
  world.run(
    activities().submitVideo,
    { request, service: { name: service }, fallback: { afterMs: 60_000 }, ...more },
    { workflowExecution: { workflowId: 'fox', runId: randomUUID() }, ...info },
  );

/** The type of the failure, and what it says beside it. */
async function verdictOf({ result }: ReturnType<typeof submit>): Promise<unknown> {
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApplicationFailure))
    throw new Error(`expected a failure, got ${JSON.stringify(error)}`);
  return { type: error.type, isRetried: !error.nonRetryable, verdict: error.details?.[1] };
}

const posts = () => world.emulator.calls.filter(({ call }) => call === 'submit').length;

const recordOfFox = async () => {
  const [name = 'there is no record'] = await recordsIn(world.folder);
  return JSON.parse(await readFile(join(world.folder, name), 'utf8'));
};

test('the failures that lead to the next service certainly made no task, and none of them is about the content, a cap or our storage', () => {
  const rows: [string, FailureRow][] = Object.entries(FAILURES);
  const leading = rows.filter(([, { fallsBack }]) => fallsBack !== undefined);
  expect(leading.map(([type, { fallsBack }]) => `${type} ${fallsBack}`)).toEqual([
    'InvalidRequest if-answered',
    'Unauthorized always',
    'RateLimited always',
    'ServiceFailed always',
    'ServiceUnreachable always',
    'AnswerUnreadable always',
  ]);
  for (const [, { paidNothing, retry }] of leading) {
    expect(paidNothing).toBe(true);
    expect(['never', 'policy']).toContain(retry.submit);
  }
});

test('a worker that is killed while it sends leaves a lost submit, which never leads to the next service', async () => {
  const killed = { attempt: 2, heartbeatDetails: { sending: 1 } };
  expect(await verdictOf(submit('a', {}, killed))).toEqual({
    type: 'videogen.SubmitUnconfirmed',
    isRetried: false,
    verdict: { service: { name: 'a' } },
  });
  expect(posts()).toBe(0);
});

test('a service that answers 503 is tried again while there is time, and the attempts add up', async () => {
  world.emulator.next(
    'submit',
    ...Array.from({ length: 3 }, () => ({ kind: 'server-error', status: 503 }) as const),
  );
  // Temporal waits for half a minute after an attempt of this number, so that it does not matter how long one takes here.
  const fallback = { afterMs: 55_000 };
  const late = (heartbeatDetails: unknown) => ({ attempt: 5, heartbeatDetails });
  const first = submit('a', { fallback }, late({ attemptWithoutTask: 4 }));
  expect(await verdictOf(first)).toMatchObject({ isRetried: true, verdict: { service: { name: 'a' } } });
  const [lastBeat] = first.beats.slice(-1);
  const second = submit('a', { fallback }, late({ ...Object(lastBeat), attemptWithoutTask: 4 }));
  expect(await verdictOf(second)).toMatchObject({ isRetried: false, verdict: { triesNext: true } });
  // The last service has the rest of the deadline.
  expect(await verdictOf(submit('b', { fallback: {} }))).toMatchObject({ isRetried: true });
});

test('a job without services has nothing new in its failures, its heartbeats and its record', async () => {
  world.emulator.next('submit', REFUSED);
  const alone = submit('a', { fallback: undefined });
  expect(await verdictOf(alone)).toMatchObject({ verdict: undefined });
  expect(Object.keys(Object(alone.beats.at(-1)))).not.toContain('triedForMs');
  expect(Object.keys(await recordOfFox())).not.toContain('keySentTo');
});

test('each service has its own idempotency keys: 422 refuses a key that only another service has received', async () => {
  world.emulator.next('submit', REFUSED, { ...REFUSED, status: 422 }, { ...REFUSED, status: 422 });
  await verdictOf(submit('a'));
  expect(await verdictOf(submit('b'))).toMatchObject({ type: 'videogen.InvalidRequest' });
  expect(await recordOfFox()).toMatchObject({ state: 'refused', choice: { name: 'b' }, keySentTo: ['a'] });
  // A later job of the same name: a has received the key, and 422 may mean that it knows it.
  expect(await verdictOf(submit('a'))).toMatchObject({ type: 'videogen.SubmitUnconfirmed' });
});

test('a lost submit at another service is reported with that service, and not repeated here, whatever the policy', async () => {
  world.emulator.next('submit', { kind: 'reset' });
  await verdictOf(submit('b'));
  const again = submit('a', { onLostSubmit: 'resubmit' });
  expect(await verdictOf(again)).toEqual({
    type: 'videogen.SubmitUnconfirmed',
    isRetried: false,
    verdict: { service: { name: 'b' } },
  });
  expect(posts()).toBe(1);
});

test('what our own checks refuse leads to no other service: a wrong request, a service that is not there', async () => {
  expect(await verdictOf(submit('c'))).toMatchObject({ type: 'videogen.InvalidRequest', verdict: undefined });
  const wrong = submit('a', { request: { prompt: 'A fox', sed: 7 } as object as typeof request });
  expect(await verdictOf(wrong)).toMatchObject({ type: 'videogen.InvalidRequest', verdict: undefined });
  expect(posts()).toBe(0);
});

const SERVER_ERROR = { kind: 'server-error', status: 500 } as const;

test('after a 500 no refusal of the same service leads to the next one, also in a later job of the same name', async () => {
  world.emulator.next('submit', SERVER_ERROR, REFUSED, REFUSED);
  const first = submit('a');
  expect(await verdictOf(first)).toEqual({
    type: 'videogen.ServiceFailed',
    isRetried: true,
    verdict: { service: { name: 'a' } },
  });
  const heartbeatDetails = first.beats.at(-1);
  const ended = { type: 'videogen.Unauthorized', isRetried: false, verdict: { service: { name: 'a' } } };
  expect(await verdictOf(submit('a', {}, { attempt: 2, heartbeatDetails }))).toEqual(ended);
  expect(await verdictOf(submit('a'))).toEqual(ended);
});

test('a later job with services is held at the one that answered 500, and one that names another service itself goes there', async () => {
  world.emulator.next('submit', SERVER_ERROR);
  await verdictOf(submit('a', { fallback: undefined }));
  const later = submit('b');
  expect(await later.result.catch((error: Error) => error.message)).toContain(
    'a request was answered with HTTP 500, after which a task may exist (it went to the service a)',
  );
  expect(await verdictOf(later)).toEqual({
    type: 'videogen.SubmitUnconfirmed',
    isRetried: false,
    verdict: { service: { name: 'a' } },
  });
  expect(posts()).toBe(1);
  await submit('b', { fallback: undefined }).result;
  expect(posts()).toBe(2);
});

test('what a job record says is read for a service that this worker does not have', async () => {
  world.emulator.next('submit', REFUSED);
  await verdictOf(submit('a'));
  const recall = (more = {}) =>
    world.run(
      activities().recallSubmit,
      { request, service: { name: 'gone' }, ...more },
      { workflowExecution: { workflowId: 'fox', runId: randomUUID() } },
    ).result;
  expect(await recall()).toMatchObject({ madeNoTask: true, onLostSubmit: 'hold' });
  expect(await recall({ adopts: 'task-7' })).toMatchObject({ task: { taskId: 'task-7' } });
  // What `a` refused left nothing there.
  expect(await recall()).toMatchObject({ task: { taskId: 'task-7', service: { name: 'gone' } } });
});
