import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskStore } from '../../src/testing/task-store';

const request = { prompt: 'two\nlines', seed: 7 };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-tasks-'));
  file = join(folder, 'tasks.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('each task is one line, written as soon as it is made', () => {
  const { taskId } = new TaskStore(1_000, file).create(request, 0);
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
