import { WorkflowNotFoundError } from '@temporalio/client';
import type { AdoptTaskInput } from '../../activities';
import { digestOfJob, JobRecord, StorageFault, type VideoStorage } from '../../src/storage';
import { asJob, failureOf, startAttempt } from './activity-world';
import { NAMESPACE, REQUEST, useSubmitWorld } from './submit/submit-world';

const here = useSubmitWorld();

let taskId: string;
beforeEach(() => {
  taskId = `task-of-${here.job}`;
});

const OWL = 'owl';

/** Temporal, where the job of the owl is in this state, and all others run. */
function temporalSaying(state: string | Error) {
  const asked: string[] = [];
  const getHandle = (workflowId: string) => ({
    describe: async () => {
      asked.push(workflowId);
      if (state instanceof Error) throw state;
      const name = workflowId === OWL ? state : 'RUNNING';
      const isOpen = name === 'RUNNING' || name === 'PAUSED';
      return { status: { name }, closeTime: isOpen ? undefined : new Date() };
    },
  });
  return { connection: {}, workflow: { getHandle }, asked };
}

interface Adoption {
  job?: string;
  namespace?: string;
  client?: object;
  storage?: VideoStorage;
}
const adopt = (
  input: Partial<AdoptTaskInput> = {},
  { job = here.job, namespace, client, storage }: Adoption = {},
) =>
  startAttempt(
    here.worker(storage && { storage }).adoptTask,
    { taskId, ...input },
    { ...asJob(job), ...(namespace && { namespace }) },
    [],
    client ?? temporalSaying(new Error('nobody is to be asked')),
  );

/** The record of a job that adopted the task by its id alone. */
function recordOf(job: string, namespace = NAMESPACE) {
  const owner = { namespace, job };
  return new JobRecord(here.storage, owner, digestOfJob(owner, { taskId }));
}

const stored = () => ({
  event: 'stored' as const,
  taskId,
  key: 'fox.mp4',
  video: { uri: 'file:///fox.mp4', bytes: 5, sha256: 'aa', contentType: 'video/mp4' },
  warnings: [],
});

test('a task that no job has is adopted at its service, put on record, and polled at once', async () => {
  const task = await adopt({ service: 'b' }).result;
  const record = recordOf(here.job);
  expect(task).toEqual({ taskId, service: 'b', record: record.id, nextPollMs: 0 });
  expect((await record.read()).entries).toMatchObject([{ event: 'task', taskId, service: 'b' }]);
});

test('a task that no job has is adopted again by the same job, which then knows whether it is stored', async () => {
  for (const _ of [1, 2]) expect(await adopt().result).not.toHaveProperty('isStored');
  const record = recordOf(here.job);
  expect((await record.read()).entries).toHaveLength(1);
  await record.add(stored());
  expect(await adopt().result).toMatchObject({ taskId, isStored: true });
});

test('a task that no job has is not adopted again under a name that was forgotten', async () => {
  await adopt().result;
  await recordOf(here.job).forget(here.storage);
  const { failure, details } = await failureOf(adopt());
  expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
  expect(details.message).toContain(`${here.job} was forgotten at `);
});

describe('a task of another job', () => {
  beforeEach(() => adopt({}, { job: OWL }).result);
  const expectRefused = async (attempt: ReturnType<typeof adopt>) => {
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
    expect(details.message).toBe(
      `the task ${taskId} belongs to the job ${OWL}, which is running or has its video`,
    );
    expect((await recordOf(here.job).read()).entries).toEqual([]);
  };

  test.each(['RUNNING', 'PAUSED', 'COMPLETED'])('that is %s stays there, and the failure names it', (state) =>
    expectRefused(adopt({}, { client: temporalSaying(state) })),
  );

  test.each(['FAILED', 'TERMINATED', 'CANCELLED', 'TIMED_OUT'])(
    'that is %s is picked up, and the other job does not get it back',
    async (state) => {
      expect(await adopt({}, { client: temporalSaying(state) }).result).toMatchObject({ taskId });
      const { details } = await failureOf(adopt({}, { job: OWL, client: temporalSaying('RUNNING') }));
      expect(details.message).toContain(`belongs to the job ${here.job}`);
    },
  );

  test('that Temporal has deleted is picked up', async () => {
    const client = temporalSaying(new WorkflowNotFoundError('gone', OWL, undefined));
    expect(await adopt({}, { client }).result).toMatchObject({ taskId });
  });

  test('whose video is on record stays there, unless its workflow ended before it handed the video over', async () => {
    const record = recordOf(OWL);
    await record.read();
    await record.add(stored());
    const deleted = new WorkflowNotFoundError('gone', OWL, undefined);
    await expectRefused(adopt({}, { client: temporalSaying(deleted) }));
    expect(await adopt({}, { client: temporalSaying('TERMINATED') }).result).toMatchObject({ taskId });
  });

  test('that was forgotten is picked up', async () => {
    await recordOf(OWL).forget(here.storage);
    expect(await adopt({}, { client: temporalSaying('COMPLETED') }).result).toMatchObject({ taskId });
  });

  test('of another namespace stays there: nobody here knows whether that runs', async () => {
    taskId = `foreign-${taskId}`;
    await adopt({}, { job: OWL, namespace: 'another' }).result;
    const client = temporalSaying('FAILED');
    await expectRefused(adopt({}, { client }));
    expect(client.asked).toEqual([]);
  });

  test('waits while Temporal cannot be asked', async () => {
    const attempt = adopt({}, { client: temporalSaying(new Error('no route')) });
    await expect(attempt.result).rejects.toThrow('no route');
    expect(await adopt({}, { client: temporalSaying('FAILED') }).result).toMatchObject({ taskId });
  });
});

describe('a task of another caller', () => {
  const client = () => temporalSaying('RUNNING');

  test('is as unknown as one that does not exist', async () => {
    await adopt({ caller: 'shop' }, { job: OWL }).result;
    const { failure, details } = await failureOf(adopt({ caller: 'thief' }, { client: client() }));
    expect([failure.type, failure.nonRetryable]).toEqual(['TaskUnknown', true]);
    expect(details).toEqual({ taskId, attempt: 1 });
    const unknown = await failureOf(adopt({ taskId: 'no such task', caller: 'thief', isPolled: true }));
    expect(failure.type).toBe(unknown.failure.type);
    expect(failure.message).not.toContain('owl');
  });

  test('that has no name is unknown too, while operators and the caller itself learn which job has it', async () => {
    await adopt({}, { job: OWL }).result;
    const of = async (caller?: string) =>
      (await failureOf(adopt({ ...(caller && { caller }) }, { client: client() }))).failure.type;
    expect(await of('thief')).toBe('TaskUnknown');
    expect(await of()).toBe('InvalidRequest');
    taskId = `shop-${taskId}`;
    await adopt({ caller: 'shop' }, { job: OWL }).result;
    expect(await of('shop')).toBe('InvalidRequest');
    expect(await of()).toBe('InvalidRequest');
  });
});

test('a task that a job submitted belongs to it, and a later job of its name and request finds it', async () => {
  const submitted = await here.submit({ caller: 'shop' }).result;
  ({ taskId } = submitted);
  const { details } = await failureOf(adopt({}, { job: OWL, client: temporalSaying('RUNNING') }));
  expect(details.message).toContain(`belongs to the job ${here.job}`);
  expect(await adopt({ request: REQUEST }).result).toMatchObject({ taskId, record: here.record.id });
  expect(await here.events()).toEqual(['sending', 'task']);
});

test('a task that a job submitted and that another job has adopted stays with that job; the log says so', async () => {
  const reported: unknown[] = [];
  const service = { ...here.service, start: async () => ({ taskId }) };
  await adopt({}, { job: OWL }).result;
  expect(await here.submit({}, { deps: { service }, reported }).result).toMatchObject({ taskId });
  expect(JSON.stringify(reported)).toContain('"event":"taskOfAnotherJob"');
  const { details } = await failureOf(adopt({}, { job: 'hare', client: temporalSaying('RUNNING') }));
  expect(details.message).toContain('belongs to the job owl');
});

test('the task of a lost submit is polled first, so that a mistyped id is claimed by nobody', async () => {
  const { failure } = await failureOf(adopt({ request: REQUEST, isPolled: true }));
  expect(failure.type).toBe('TaskUnknown');
  expect(await adopt({}, { job: OWL }).result).toMatchObject({ taskId });
});

test('the task of a lost submit is at the service that got the request, and the next submit of the job finds it', async () => {
  here.emulator.next('submit', { kind: 'reset' });
  await failureOf(here.submit({ service: 'b' }));
  taskId = here.emulator.generations().at(-1)?.taskId ?? '';
  const adopted = await adopt({ request: REQUEST, service: 'a', isPolled: true }).result;
  expect(adopted).toMatchObject({ taskId, service: 'b', record: here.record.id });
  expect(await here.submit().result).toMatchObject({ taskId, service: 'b' });
  expect(here.posts()).toBe(1);
});

test.each<[string, (key: string) => boolean]>([
  ['its claim', (key) => key.startsWith('tasks/')],
  ['its record', (key) => key.startsWith('jobs/')],
])('an adoption that cannot write %s is tried again, and succeeds then', async (_what, isBroken) => {
  const create: VideoStorage['create'] = (key, text) =>
    isBroken(key) ? Promise.reject(new StorageFault('no space left')) : here.storage.create(key, text);
  const { failure } = await failureOf(adopt({}, { storage: { ...here.storage, create } }));
  expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
  expect(await adopt().result).toMatchObject({ taskId });
});
