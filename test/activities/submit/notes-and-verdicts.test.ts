import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { SubmitVideoInput } from '../../../activities/submit/submit-video';
import { recordKey, writeForgotten } from '../../../src/retention';
import type { ServiceDirectoryOptions } from '../../../src/service/service-directory';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, createActivityWorld, startAttempt } from '../activity-world';

const request = { prompt: 'A red fox' };
const REFUSED = { kind: 'refused', status: 401, message: 'no' } as const;
const RESET = { kind: 'reset' } as const;
const again = { onLostSubmit: 'resubmit' } as const;
const fallback = { afterMs: 60_000 };

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

let jobs = 0;
let workflowId: string;
beforeEach(() => {
  workflowId = `fox-${++jobs}`;
});

type Worker = Omit<ServiceDirectoryOptions, 'services'>;
const AT_DEFAULT: Worker = { defaultService: 'a' };
const submit = (more: Partial<SubmitVideoInput> = {}, worker: Worker = AT_DEFAULT, info = {}) => {
  const services = { a: world.service, b: world.service };
  const { submitVideo } = createVideoActivities({
    services,
    storage: createFileStorage(world.folder),
    ...worker,
  });
  const named = { workflowExecution: { workflowId, runId: 'run' } };
  return startAttempt(submitVideo, { request, ...more }, { ...named, ...info });
};

async function failureOf({ result }: { result: Promise<unknown> }) {
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected a failure, got ${String(error)}`);
  const [details, ...verdict] = error.details ?? [];
  return { type: error.type, message: Object(details).message, verdict };
}

describe('the note before a POST', () => {
  test.each<[string, Partial<SubmitVideoInput>, boolean, object]>([
    ['names the service that the worker chose', {}, true, { service: { name: 'a' } }],
    ['leaves out the one that the job names', { service: { name: 'a' } }, true, {}],
    ['leaves out one without a name', {}, false, {}],
  ])('%s', async (_what, more, hasDefault, service) => {
    const { beats, result } = submit(more, hasDefault ? AT_DEFAULT : { service: world.service });
    await result;
    expect(beats[0]).toEqual({ sending: 1, ...service });
  });
});

describe('the note after a refusal', () => {
  const noteAfter = async (
    more: Partial<SubmitVideoInput>,
    heartbeatDetails?: object,
    fault: object = REFUSED,
  ) => {
    world.emulator.next('submit', fault as typeof REFUSED);
    const attempt = submit(more, AT_DEFAULT, heartbeatDetails && { attempt: 2, heartbeatDetails });
    await failureOf(attempt);
    return Object(attempt.beats.at(-1));
  };

  test('names the service only if a submit is lost there', async () => {
    expect(await noteAfter(again, { sending: 1 })).toMatchObject({ lostSubmits: 1, service: { name: 'a' } });
    workflowId = `fox-${++jobs}`;
    expect(Object.keys(await noteAfter(again))).not.toContain('service');
  });

  test('has the answer that leaves a task open, and the time that was tried, for a job with services alone', async () => {
    const failed = { kind: 'server-error', status: 500 };
    const tried = { attemptWithoutTask: 1, triedForMs: 5_000 };
    const service = { name: 'a' };
    const note = await noteAfter({ service, fallback }, tried, failed);
    expect(note.unsure).toBe('HTTP 500');
    // Five seconds before, this attempt, and the pause of four seconds after it.
    expect(note.triedForMs).toBeGreaterThanOrEqual(9_000);
    expect(note.triedForMs).toBeLessThan(60_000);
    workflowId = `fox-${++jobs}`;
    const alone = Object.keys(await noteAfter({ service }, tried, failed));
    expect(alone).not.toEqual(expect.arrayContaining(['unsure']));
    expect(alone).not.toEqual(expect.arrayContaining(['triedForMs']));
  });
});

describe('a refused submit', () => {
  const named = { service: { name: 'a' }, fallback };

  test('leads to the next service, and says which one refused', async () => {
    world.emulator.next('submit', REFUSED, REFUSED);
    const { verdict } = await failureOf(submit(named));
    expect(verdict).toEqual([{ triesNext: true, service: { name: 'a' } }]);
    workflowId = `fox-${++jobs}`;
    const unnamed = await failureOf(submit({ fallback }, { service: world.service }));
    expect(unnamed.verdict).toEqual([{ triesNext: true }]);
  });

  test.each([
    ['was lost in the attempt before', { sending: 1 }],
    ['was lost earlier', { attemptWithoutTask: 1, lostSubmit: 'it was cut', lostSubmits: 1 }],
    ['was lost earlier, by its count alone', { attemptWithoutTask: 1, lostSubmits: 1 }],
    ['was answered with a 500', { attemptWithoutTask: 1, unsure: 'HTTP 500' }],
  ])('leads nowhere after one that %s', async (_what, heartbeatDetails) => {
    world.emulator.next('submit', REFUSED);
    const second = submit({ ...named, ...again }, AT_DEFAULT, { attempt: 2, heartbeatDetails });
    expect((await failureOf(second)).verdict).toEqual([{ service: { name: 'a' } }]);
  });

  test('says nothing of services to a job that has left the choice to the worker', async () => {
    world.emulator.next('submit', REFUSED);
    expect((await failureOf(submit())).verdict).toEqual([]);
  });
});

test('a lost submit never leads to the next service', async () => {
  world.emulator.next('submit', RESET);
  const { type, verdict } = await failureOf(submit({ service: { name: 'a' }, fallback: { afterMs: 0 } }));
  expect([type, verdict]).toEqual(['videogen.SubmitUnconfirmed', [{ service: { name: 'a' } }]]);
});

test('a job that was forgotten is not paid again under its name and request', async () => {
  const { record } = await submit().result;
  await writeForgotten(createFileStorage(world.folder), recordKey(workflowId, String(record)), {
    namespace: 'test',
  });
  const posts = world.emulator.calls.length;
  const { type, message } = await failureOf(submit());
  expect(type).toBe('videogen.InvalidRequest');
  expect(message).toContain(`${workflowId} was forgotten at `);
  expect(world.emulator.calls).toHaveLength(posts);
});

test('a decided resubmit at a service that is not here says only why, if nothing else is known', async () => {
  const { message } = await failureOf(submit({ service: { name: 'gone' }, resubmits: true }));
  expect(message).toMatch(/^nothing was sent again, because /);
});
