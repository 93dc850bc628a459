import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskStore } from '../../src/testing/task-store';

const request = { prompt: 'A red fox', seed: 7 };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-tasks-'));
  file = join(folder, 'tasks.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('tasks survive a restart of the emulator, and keep running meanwhile', () => {
  const before = new TaskStore(1_000, file);
  const first = before.create(request, 100);
  const second = before.create({ prompt: 'A blue fox' }, 600);
  const after = new TaskStore(1_000, file);
  expect([...after.tasks.values()]).toEqual([first, second]);
  expect(after.view(first, 1_100)).toEqual({ state: 'succeeded' });
  expect(after.view(second, 1_100)).toEqual({ state: 'running', percent: 50 });
});

test('the key and the failure of a task survive a restart, and no task appears twice', () => {
  const before = new TaskStore(1_000, file);
  const keyed = before.create(request, 100, { idempotencyKey: 'k-1' });
  const failing = before.create(request, 100, { failure: { code: 'nsfw', message: 'Not this.' } });
  before.end(keyed, { failure: { code: 'lost', message: 'Gone.', atMs: 300 } });
  const after = new TaskStore(1_000, file);
  expect([...after.tasks.values()]).toEqual([keyed, failing]);
  expect(after.withKey('k-1')).toEqual(keyed);
  expect(after.view(keyed, 300)).toMatchObject({ state: 'failed', error: { code: 'lost' } });
  expect([keyed, failing].map((task) => after.endOf(task))).toEqual([300, 1_100]);
});

test('a cancelled task is still cancelled after a restart', () => {
  const before = new TaskStore(1_000, file);
  const task = before.create(request, 100);
  before.end(task, { cancelledAtMs: 300 });
  const after = new TaskStore(1_000, file);
  expect([...after.tasks.values()]).toEqual([{ ...task, cancelledAtMs: 300 }]);
  expect(after.view(task, 5_000)).toEqual({ state: 'cancelled' });
});

test('each task is one line, written as soon as it is made', () => {
  const { taskId } = new TaskStore(1_000, file).create({ prompt: 'two\nlines' }, 0);
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ taskId });
});

test('lines that a crash cut off are skipped, and the next task is stored', () => {
  const { taskId } = new TaskStore(1_000, file).create(request, 0);
  appendFileSync(file, '{"taskId":"task_cut","requ');
  const next = new TaskStore(1_000, file).create(request, 0);
  expect([...new TaskStore(1_000, file).tasks.keys()]).toEqual([taskId, next.taskId]);
});

test('two emulators on one file read the tasks from before their start, and lose none', () => {
  const [one, two] = [new TaskStore(1_000, file), new TaskStore(1_000, file)];
  const ids = [one, two, one].map((store) => store.create(request, 0).taskId);
  expect([...new TaskStore(1_000, file).tasks.keys()]).toEqual(ids);
});

test('without a file no task survives', () => {
  new TaskStore(1_000).create(request, 0);
  expect(new TaskStore(1_000).tasks.size).toBe(0);
});
