import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { SubmitVideoInput } from '../../../activities/submit/submit-video';
import { COST_SIGNAL, SERVICE_MEMO, TASK_ID_MEMO } from '../../../src/contract/names';
import type { ServiceDirectoryOptions } from '../../../src/service/service-directory';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, createActivityWorld, startAttempt } from '../activity-world';

const request = { prompt: 'A red fox', duration: 5 };
const again = { onLostSubmit: 'resubmit' } as const;

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

let jobs = 0;
let workflowId: string;
let postsBefore: number;
beforeEach(() => {
  workflowId = `fox-${++jobs}`;
  postsBefore = world.emulator.calls.length;
});
const posts = () => world.emulator.calls.length - postsBefore;

/** The run before a reset: its submit, where that went if the input said so, and its memo. */
interface EarlierRun {
  service?: string | undefined;
  memo?: Record<string, unknown>;
}

/** Temporal, which has that run. */
function temporalWith({ service, memo }: EarlierRun, signals: unknown[] = []) {
  const input = {
    payloads: [defaultPayloadConverter.toPayload({ ...(service && { service: { name: service } }) })],
  };
  const submit = { activityType: { name: 'submitVideo' }, activityId: '1', input };
  const histories: Record<string, object[]> = {
    own: [{ workflowTaskFailedEventAttributes: { baseRunId: 'before' } }],
    before: [{ eventId: 5, activityTaskScheduledEventAttributes: submit }],
  };
  return {
    options: { loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] } },
    connection: {},
    workflow: {
      getHandle: (_workflowId: string, runId: string) => ({
        fetchHistory: async () => ({ events: histories[runId] }),
        describe: async () => ({ memo }),
        signal: async (...said: unknown[]) => void signals.push(said),
      }),
    },
  };
}

const LOST = 'run before ended while a request may have been in progress';

type Worker = Omit<ServiceDirectoryOptions, 'services'>;
const workerWith = (worker: Worker = { service: world.service }) =>
  createVideoActivities({
    services: { a: world.service, b: world.service },
    storage: createFileStorage(world.folder),
    ...worker,
  });

const submitAfterReset = (before: EarlierRun, more: Partial<SubmitVideoInput> = {}, worker?: Worker) =>
  startAttempt(
    workerWith(worker).submitVideo,
    { request, resetRuns: [], ...more },
    { workflowExecution: { workflowId, runId: 'own' } },
    [],
    temporalWith(before),
  );

async function failureOf({ result }: { result: Promise<unknown> }) {
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApplicationFailure))
    throw new Error(`expected a failure, got ${JSON.stringify(error)}`);
  return { type: error.type, message: Object(error.details?.[0]).message, verdict: error.details?.[1] };
}
const HELD = { type: 'videogen.SubmitUnconfirmed', message: LOST };

describe('a submit after a reset', () => {
  test('takes the task of the earlier run, at its service, and pays for nothing', async () => {
    const memo = { [TASK_ID_MEMO]: 'task-1', [SERVICE_MEMO]: 'b' };
    expect(await submitAfterReset({ memo }, { service: { name: 'a' } }).result).toMatchObject({
      taskId: 'task-1',
      service: { name: 'b' },
    });
    expect(posts()).toBe(0);
  });

  test('is held when the earlier run may have sent a request', async () => {
    expect(await failureOf(submitAfterReset({}))).toMatchObject(HELD);
    expect(posts()).toBe(0);
  });

  test('is sent when somebody has decided about exactly that', async () => {
    await submitAfterReset({}, { resubmits: true, decidedLostSubmit: LOST }).result;
    expect(posts()).toBe(1);
    const other = submitAfterReset(
      {},
      { request: { ...request, seed: 2 } as never, decidedLostSubmit: 'other' },
    );
    expect(await failureOf(other)).toMatchObject(HELD);
    expect(posts()).toBe(1);
  });

  test('is sent when the policy says so, and counts what it repeats', async () => {
    const { result, beats } = submitAfterReset({}, again);
    await result;
    expect(beats[0]).toMatchObject({ sending: 1, lostSubmits: 1 });
  });

  test('that is refused may have been refused for a key that the service knows', async () => {
    world.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
    const memo = {};
    const unsent = { request, resetRuns: [], resubmits: true, decidedLostSubmit: LOST };
    expect(await failureOf(submitAfterReset({ memo }, unsent))).toMatchObject({ type: HELD.type });
  });

  test.each<[string, EarlierRun, Partial<SubmitVideoInput>, Worker | undefined, object | undefined]>([
    [
      'at the service that it named',
      { service: 'b' },
      { service: { name: 'a' } },
      undefined,
      { service: { name: 'b' } },
    ],
    ['somewhere, if the worker chose it', {}, {}, { defaultService: 'a' }, { service: { name: 'a' } }],
    [
      'somewhere, if the job has several',
      {},
      { service: { name: 'a' }, fallback: {} },
      undefined,
      { service: { name: 'a' } },
    ],
  ])('is not repeated here when the request is lost %s', async (_what, before, more, worker, verdict) => {
    const held = await failureOf(submitAfterReset(before, { ...more, ...again }, worker));
    expect(held).toMatchObject({ ...HELD, verdict });
    expect(posts()).toBe(0);
  });

  test.each<[string, EarlierRun, Partial<SubmitVideoInput>]>([
    ['that the job names', { service: 'a' }, { service: { name: 'a' } }],
    ['that has no name', {}, {}],
  ])('is repeated at the same service, %s', async (_what, before, more) => {
    await submitAfterReset(before, { ...more, ...again }).result;
    expect(posts()).toBe(1);
  });

  test('is held at the service on record, to which the request was sent last', async () => {
    world.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    const first = { request, service: { name: 'b' } };
    await failureOf(
      startAttempt(workerWith().submitVideo, first, { workflowExecution: { workflowId, runId: 'before' } }),
    );
    const job = { service: { name: 'a' }, ...again };
    expect(await failureOf(submitAfterReset({}, job))).toMatchObject({ verdict: { service: { name: 'b' } } });
    expect(await failureOf(submitAfterReset({ service: 'b' }, job))).toMatchObject({
      verdict: { service: { name: 'b' } },
    });
    expect(posts()).toBe(1);
  });
});

describe('the workflow hears what the video will cost', () => {
  const prices = { currency: 'USD', table: [{ perSecond: 0.1 }] };
  const toldBy = async (more: Partial<SubmitVideoInput>, attempt = 1) => {
    const signals: unknown[] = [];
    const service = world.serviceAt(world.emulator.url, { profile: { prices } });
    const heartbeatDetails = attempt > 1 ? { attemptWithoutTask: attempt - 1 } : undefined;
    await startAttempt(
      workerWith({ service }).submitVideo,
      { request, ...more },
      { workflowExecution: { workflowId, runId: 'own' }, attempt, heartbeatDetails },
      [],
      temporalWith({}, signals),
    ).result;
    return signals;
  };

  test('before it is paid for', async () => {
    const cost = { estimated: { amount: 0.5, currency: 'USD' }, service: expect.any(String) };
    expect(await toldBy({ takesCost: true })).toEqual([[COST_SIGNAL, { cost }]]);
  });

  test.each<[string, Partial<SubmitVideoInput>, number]>([
    ['not if it is of an earlier version', {}, 1],
    ['not again by a later attempt', { takesCost: true }, 2],
    ['not for an item of a batch, whose estimate it has', { takesCost: true, job: 'foxes-1' }, 1],
  ])('%s', async (_what, more, attempt) => {
    expect(await toldBy(more, attempt)).toEqual([]);
  });
});

describe('a key of the caller', () => {
  const submitWith = (idempotencyKey: string) =>
    startAttempt(
      workerWith().submitVideo,
      { request, idempotencyKey },
      { workflowExecution: { workflowId, runId: 'own' } },
    );

  test('is the one that is sent', async () => {
    await submitWith('key-of-caller').result;
    expect(world.emulator.calls.at(-1)?.idempotencyKey).toBe('key-of-caller');
  });

  test('may have been sent by the caller too, so that a 422 may mean that its task exists', async () => {
    world.emulator.next('submit', { kind: 'refused', status: 422, message: 'known key' });
    expect((await failureOf(submitWith('key-of-caller'))).type).toBe(HELD.type);
  });
});
