import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskBook } from '../../src/emulator/task-book';

const request = { prompt: 'A red fox', seed: 7 };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-tasks-'));
  file = join(folder, 'tasks.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('tasks outlive the emulator, and their time goes on meanwhile', () => {
  const before = new TaskBook(1_000, file);
  const first = before.create(request, 100);
  const second = before.create({ prompt: 'A blue fox' }, 600);
  const after = new TaskBook(1_000, file);
  expect([...after.tasks.values()]).toEqual([first, second]);
  expect(after.view(first, 1_100)).toEqual({ status: 'succeeded' });
  expect(after.view(second, 1_100)).toEqual({ status: 'running', progress: 50 });
});

test('the key of a task and its failure outlive the emulator as well, and no task is there twice', () => {
  const before = new TaskBook(1_000, file);
  const keyed = before.create(request, 100, { idempotencyKey: 'k-1' });
  const failing = before.create(request, 100, { failure: { code: 'nsfw', message: 'Not this.' } });
  before.fail(keyed, { code: 'lost', message: 'Gone.' }, 300);
  const after = new TaskBook(1_000, file);
  expect([...after.tasks.values()]).toEqual([keyed, failing]);
  expect(after.withKey('k-1')).toEqual(keyed);
  expect(after.view(keyed, 300)).toEqual({ status: 'failed', error: { code: 'lost', message: 'Gone.' } });
  expect([keyed, failing].map((task) => after.endOf(task))).toEqual([300, 1_100]);
});

test('a task that was cancelled is so after the emulator as well', () => {
  const before = new TaskBook(1_000, file);
  const task = before.create(request, 100);
  before.cancel(task, 300);
  const after = new TaskBook(1_000, file);
  expect([...after.tasks.values()]).toEqual([{ ...task, cancelledAtMs: 300 }]);
  expect(after.view(task, 5_000)).toEqual({ status: 'cancelled' });
});

test('a file from before there were keys is read', () => {
  writeFileSync(file, `${JSON.stringify({ taskId: 'task_1', request, submittedAtMs: 5 })}\n`);
  expect([...new TaskBook(1_000, file).tasks.values()]).toEqual([
    { taskId: 'task_1', request, submittedAtMs: 5 },
  ]);
});

test('each task is one line, written when it is made', () => {
  const book = new TaskBook(1_000, file);
  const { taskId } = book.create({ prompt: 'two\nlines' }, 0);
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ taskId });
});

test('a line that a crash cut is passed over, and so is what is no task; the next one is kept', () => {
  const { taskId } = new TaskBook(1_000, file).create(request, 0);
  appendFileSync(file, '{"taskId":"task_cut","requ');
  const next = new TaskBook(1_000, file).create(request, 0);
  expect([...new TaskBook(1_000, file).tasks.keys()]).toEqual([taskId, next.taskId]);
  writeFileSync(file, 'null\n7\n{"taskId":"task_1","request":{},"submittedAtMs":0}\n');
  expect(new TaskBook(1_000, file).tasks.size).toBe(0);
});

test('two emulators on one file know the tasks that were there when they began, and lose none', () => {
  const [one, two] = [new TaskBook(1_000, file), new TaskBook(1_000, file)];
  const ids = [one, two, one].map((book) => book.create(request, 0).taskId);
  expect([...new TaskBook(1_000, file).tasks.keys()]).toEqual(ids);
});

test('without a file nothing is kept', () => {
  new TaskBook(1_000).create(request, 0);
  expect(new TaskBook(1_000).tasks.size).toBe(0);
});
