import type { JobRecord, JobRecordFile } from '../../../activities/job-record';
import type { FindTools, ServiceTools } from '../../../activities/service-tools';
import {
  asTaken,
  recordedTask,
  submittedTask,
  type TaskDescriptionDeps,
  taskAt,
  toolsOnRecord,
  toolsWithout,
} from '../../../activities/submit/submitted-task';
import type { RecordedFacts } from '../../../src/retention';

const request = { prompt: 'A red fox', duration: 5 };
const usd = (amount: number) => ({ amount, currency: 'USD' });

/** The tools for a service, at this price a second. */
const toolsAt = (name: string | undefined, perSecond: number): TaskDescriptionDeps => ({
  ...(name !== undefined && { choice: { name } }),
  service: { profile: { name: 'Ark', prices: { currency: 'USD', table: [{ perSecond }] } } },
  learnedTimes: { usualTimesFor: () => ({}) },
});
const [unnamed, a, b] = [toolsAt(undefined, 1), toolsAt('a', 2), toolsAt('b', 3)];

/** A worker that has these, of which the job uses `b`. */
const known = (...services: TaskDescriptionDeps[]) => {
  const find: FindTools = (choice) => {
    const found = services.find((one) => one.choice?.name === choice?.name);
    return found ? (found as ServiceTools) : { problem: 'not here' };
  };
  return { find, tools: b };
};

const jobWith = (facts: RecordedFacts, record?: JobRecord | Error) => ({
  request,
  record: {
    id: 'record-1',
    facts,
    read: async () => {
      if (record instanceof Error) throw record;
      return record;
    },
  } as object as JobRecordFile,
});

const costAt = (amount: number, service: string) => ({ estimated: usd(amount), service });

describe('a task on record', () => {
  const SUBMITTED = { state: 'submitted', taskId: 'task-1' } as const;

  test('is at the service of the record, at its price', () => {
    const job = jobWith({ choice: { name: 'a' } });
    expect(recordedTask(SUBMITTED, job, known(a, b))).toEqual({
      taskId: 'task-1',
      record: 'record-1',
      service: { name: 'a' },
      cost: costAt(10, 'a'),
    });
  });

  test('is at the service without a name if the record has none', () => {
    expect(recordedTask(SUBMITTED, jobWith({}), known(unnamed, b))).not.toHaveProperty('service');
    expect(recordedTask(SUBMITTED, jobWith({}), known(b))).not.toHaveProperty('service');
  });

  test('stays at a service that this worker does not have: another one polls it', () => {
    const task = recordedTask(SUBMITTED, jobWith({ choice: { name: 'gone' } }), known(a, b));
    expect(task).toMatchObject({ taskId: 'task-1', service: { name: 'gone' } });
  });

  test('is stored, if the record says so', () => {
    const stored = { state: 'stored', taskId: 'task-1' } as JobRecord;
    expect(recordedTask(stored, jobWith({}), known(unnamed, b))).toMatchObject({ isStored: true });
    expect(recordedTask(SUBMITTED, jobWith({}), known(unnamed, b))).not.toHaveProperty('isStored');
  });

  test('is none after a refusal or without a record', () => {
    expect(recordedTask({ state: 'refused', keySent: true }, jobWith({}), known(unnamed, b))).toBeUndefined();
    expect(recordedTask(undefined, jobWith({}), known(unnamed, b))).toBeUndefined();
  });
});

describe('a task that an earlier run names', () => {
  const paid = { cost: costAt(99, 'a'), choice: { name: 'a' } };

  test('has the cost on record, if that is about the same service', () => {
    const job = jobWith(paid);
    expect(taskAt({ name: 'a' }, 'task-1', job, known(a, b))).toMatchObject({
      service: { name: 'a' },
      cost: costAt(99, 'a'),
    });
    expect(job.record.facts).toEqual(paid);
  });

  test('has the price of its own service, if the record is about another one', () => {
    const job = jobWith(paid);
    expect(taskAt({ name: 'b' }, 'task-1', job, known(a, b))).toMatchObject({
      service: { name: 'b' },
      cost: costAt(15, 'b'),
    });
    expect(job.record.facts).toEqual({});
  });

  test('is at the service without a name, or at that of the job if the worker has none', () => {
    expect(taskAt(undefined, 'task-1', jobWith({}), known(unnamed, b))).not.toHaveProperty('service');
    expect(taskAt(undefined, 'task-1', jobWith({}), known(a, b))).toMatchObject({ service: { name: 'b' } });
    expect(taskAt({ name: 'gone' }, 'task-1', jobWith({}), known(a, b))).toMatchObject({
      service: { name: 'gone' },
    });
  });
});

describe('an adopted task', () => {
  const at = async (record: JobRecord | Error | undefined) =>
    (await toolsOnRecord(jobWith({ choice: { name: 'a' } }, record).record, known(a, b))).choice?.name;

  test.each<[string, JobRecord]>([
    ['may have been sent', { state: 'sending', send: 's', sender: 'x', at: '' }],
    ['was lost before a refusal', { state: 'refused', keySent: true, lostSubmit: 'it was cut' }],
    ['was answered with a 500', { state: 'refused', keySent: true, unsure: 'HTTP 500' }],
  ])('is at the service of the record, to which its request %s', async (_what, record) => {
    expect(await at(record)).toBe('a');
  });

  test('is at the service of the job, if the record knows of no request that may have made it', async () => {
    expect(await at({ state: 'refused', keySent: true })).toBe('b');
    expect(await at(undefined)).toBe('b');
    expect(await at(new Error('the storage is down'))).toBe('b');
  });
});

test('at a service that the worker does not have, a task has a name and nothing else', () => {
  expect(submittedTask('task-1', jobWith({}), toolsWithout({ name: 'gone' }))).toEqual({
    taskId: 'task-1',
    record: 'record-1',
    service: { name: 'gone' },
  });
  expect(submittedTask('task-1', jobWith({}), toolsWithout(undefined))).not.toHaveProperty('service');
});

test('a task has how its service is polled and what was learned of it', () => {
  const polled = {
    ...unnamed,
    pollsPerSecondSaved: 2,
    learnedTimes: { usualTimesFor: () => ({ usualTimes: [1, 2, 3] }) },
  };
  expect(submittedTask('task-1', jobWith({}), polled)).toMatchObject({
    servicePolling: { pollsPerSecondSaved: 2 },
    usualTimes: [1, 2, 3],
  });
});

test('a workflow of an earlier version gets no cost', () => {
  const task = { taskId: 'task-1', cost: costAt(5, 'a') };
  expect(asTaken(task, {})).toEqual({ taskId: 'task-1' });
  expect(asTaken(task, { takesCost: true })).toEqual(task);
  expect(asTaken({ taskId: 'task-1' }, { takesCost: true })).toEqual({ taskId: 'task-1' });
});
