import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimTask, createFileStorage, type VideoStorage } from '../../src/storage';

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-claims-'));
  storage = createFileStorage(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const TASK = { service: 'kling', taskId: 'task-1' };
const job = (name: string, namespace = 'default') => ({ namespace, job: name });
const holder = () => claimTask(storage, TASK, job('somebody else'));

test('a task belongs to the first job that claims it, and others learn which job that is', async () => {
  const fox = { ...job('fox'), record: 'jobs/fox.1' };
  expect(await claimTask(storage, TASK, fox)).toBeUndefined();
  expect(await claimTask(storage, TASK, fox)).toBeUndefined();
  for (const other of [job('owl'), job('fox', 'another namespace')])
    expect(await claimTask(storage, TASK, other)).toEqual({
      ...fox,
      id: expect.any(String),
      at: expect.any(String),
    });
});

test('tasks of the same id at other services, and ids of any shape, are tasks of their own', async () => {
  const tasks = [
    TASK,
    { taskId: 'task-1' },
    { service: 'runway', taskId: 'task-1' },
    { taskId: '../../jobs/fox' },
    { taskId: '' },
    { taskId: `x\0/${'y'.repeat(5_000)}` },
    { service: 'a', taskId: 'b"]' },
    { service: 'a","b', taskId: '"]' },
  ];
  for (const [index, task] of tasks.entries())
    expect(await claimTask(storage, task, job(`fox-${index}`))).toBeUndefined();
  expect(await readdir(folder)).toEqual(['tasks']);
  expect(await readdir(join(folder, 'tasks'))).toHaveLength(tasks.length);
});

test('of 20 jobs that claim a task at once, one gets it', async () => {
  const jobs = Array.from({ length: 20 }, (_, index) => job(`fox-${index}`));
  const claims = await Promise.all(jobs.map((each) => claimTask(storage, TASK, each)));
  const winners = jobs.filter((_, index) => claims[index] === undefined);
  expect(winners).toHaveLength(1);
  expect(await holder()).toMatchObject({ ...winners[0] });
});

test('of several jobs that take a task over, one gets it', async () => {
  await claimTask(storage, TASK, job('fox'));
  const dead = await holder();
  const jobs = Array.from({ length: 10 }, (_, index) => job(`owl-${index}`));
  const claims = await Promise.all(jobs.map((each) => claimTask(storage, TASK, each, dead)));
  const winners = jobs.filter((_, index) => claims[index] === undefined);
  expect(winners).toHaveLength(1);
  expect(await holder()).toMatchObject({ ...winners[0] });
  expect(await claimTask(storage, TASK, job('fox'))).toMatchObject({ ...winners[0] });
});

test('a task is not taken over from a job that has claimed it meanwhile', async () => {
  await claimTask(storage, TASK, job('fox'));
  const dead = await holder();
  await claimTask(storage, TASK, job('owl'), dead);
  expect(await claimTask(storage, TASK, job('hare'), dead)).toMatchObject(job('owl'));
});

test('a damaged claim is an error that names its file, never a task that nobody has', async () => {
  await claimTask(storage, TASK, job('fox'));
  const [claim = ''] = await readdir(join(folder, 'tasks'));
  const file = join('tasks', claim);
  await rm(join(folder, file));
  await writeFile(join(folder, file), '{"job":"owl"}');
  await expect(claimTask(storage, TASK, job('owl'))).rejects.toThrow(`${file} in the storage is damaged`);
});
