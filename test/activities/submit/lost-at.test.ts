import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { SubmitVideoInput } from '../../../activities/submit/submit-video';
import type { ServiceDirectoryOptions } from '../../../src/service/service-directory';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const request = { prompt: 'A red fox' };
const RESET = { kind: 'reset' } as const;

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(() => world.close());

/** A worker with the services a and b. Both are the same emulator: what counts here is which one a request is meant for. */
const workerWith = (options: Omit<ServiceDirectoryOptions, 'services'> = {}, services = {}) => {
  const { service } = world;
  return createVideoActivities({
    services: { a: service, b: service, ...services },
    storage: createFileStorage(world.folder),
    ...options,
  });
};
const withKeys = (key: string, ...others: string[]) => {
  const keys = Object.fromEntries([key, ...others].map((name) => [name, world.service]));
  return { c: { key, keys } };
};

type Activities = ReturnType<typeof workerWith>;
const submit = ({ submitVideo }: Activities, more: Partial<SubmitVideoInput> = {}, info = {}) =>
  world.run(
    submitVideo,
    { request, ...more },
    { workflowExecution: { workflowId: 'fox', runId: randomUUID() }, ...info },
  );

async function endOf({ result }: ReturnType<typeof submit>): Promise<unknown> {
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected a failure, got ${String(error)}`);
  return { type: error.type, message: Object(error.details?.[0]).message, verdict: error.details?.[1] };
}

const posts = () => world.emulator.calls.filter(({ call }) => call === 'submit').length;
const lostAt = (verdict: object, message?: string) => ({
  type: 'videogen.SubmitUnconfirmed',
  message: expect.stringContaining(message ?? ''),
  verdict,
});
const again = { onLostSubmit: 'resubmit' } as const;

test.each([
  ['a', { defaultService: 'a' }, { service: { name: 'a' } }],
  ['without a name', {}, { isUnnamed: true }],
])(
  'a submit that is lost at the default, which is the service %s, is not repeated at the next default',
  async (_, options, verdict) => {
    const { service } = world;
    world.emulator.next('submit', RESET);
    const first = submit(workerWith({ service, ...options }));
    expect(await endOf(first)).toEqual(lostAt(verdict));
    const next = workerWith({ service, defaultService: 'b' });
    const attempt = { attempt: 2, heartbeatDetails: first.beats.at(-1) };
    expect(await endOf(submit(next, again, attempt))).toEqual(lostAt(verdict));
    expect(await endOf(submit(next, again))).toEqual(lostAt(verdict, 'it went to the service'));
    expect(posts()).toBe(1);
  },
);

test('a submit that is lost at the service without a name is reported there, although the job names one now', async () => {
  const worker = workerWith({ service: world.service });
  world.emulator.next('submit', RESET);
  await endOf(submit(worker));
  expect(await endOf(submit(worker, { service: { name: 'a' }, ...again }))).toEqual(
    lostAt({ isUnnamed: true }, '(it went to the service without a name)'),
  );
  expect(posts()).toBe(1);
});

test('a resubmit of one that is lost at the service without a name goes there, whatever the default is', async () => {
  const worker = workerWith({ service: world.service, defaultService: 'b' });
  const decided = { resubmits: true, isAtUnnamed: true };
  expect(await submit(worker, decided).result).not.toHaveProperty('service');
});

test('a submit that is lost with the key that the worker chose is not repeated with the next one', async () => {
  const verdict = { service: { name: 'c', key: 'old' } };
  const named = { service: { name: 'c' } };
  world.emulator.next('submit', RESET);
  const first = submit(workerWith({}, withKeys('old')), named);
  expect(await endOf(first)).toEqual(lostAt(verdict));
  for (const keys of [withKeys('new', 'old'), withKeys('new')]) {
    const next = workerWith({}, keys);
    const attempt = { attempt: 2, heartbeatDetails: first.beats.at(-1) };
    expect(await endOf(submit(next, { ...named, ...again }, attempt))).toEqual(lostAt(verdict));
    const pinned = { service: { name: 'c', key: 'new' }, ...again };
    expect(await endOf(submit(next, pinned))).toEqual(
      lostAt(verdict, 'it went to the service c with the key old'),
    );
  }
  expect(posts()).toBe(1);
});

test('a resubmit with a key that the worker no longer has is held, and says which key is missing', async () => {
  const decided = { service: { name: 'c', key: 'old' }, resubmits: true, decidedLostSubmit: 'it timed out' };
  expect(await endOf(submit(workerWith({}, withKeys('new')), decided))).toEqual({
    type: 'videogen.SubmitUnconfirmed',
    message: expect.stringContaining(
      'it timed out; nothing was sent again, because this worker has no key old for the service c',
    ),
    verdict: undefined,
  });
  expect(posts()).toBe(0);
});

test('a task that an attempt noted is polled with the key of that attempt', async () => {
  const named = { service: { name: 'c' } };
  const first = submit(workerWith({}, withKeys('old')), named);
  const { taskId } = await first.result;
  const attempt = { attempt: 2, heartbeatDetails: first.beats.at(-1) };
  const second = submit(workerWith({}, withKeys('new', 'old')), named, attempt);
  expect(await second.result).toMatchObject({ taskId, service: { name: 'c', key: 'old' } });
});

test('after a timeout the record says where the request may have made a task', async () => {
  world.emulator.next('submit', RESET);
  await endOf(submit(workerWith({}, withKeys('old')), { service: { name: 'c' } }));
  const { recallSubmit } = workerWith({}, withKeys('new', 'old'));
  const asked = { request, service: { name: 'c' } };
  const info = { workflowExecution: { workflowId: 'fox', runId: randomUUID() } };
  expect(await world.run(recallSubmit, asked, info).result).toMatchObject({
    madeNoTask: false,
    lostAt: { service: { name: 'c', key: 'old' } },
  });
});
