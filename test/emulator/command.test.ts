import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { freePort } from '../../src/temporal-server/loopback-port';
import { TaskStore } from '../../src/testing/task-store';
import { FakeTerminal } from '../cli/fake-terminal';
import { eventually } from '../temporal-server/eventually';
import { serviceClient, taskIdOf } from './service-client';

async function whileRunning(
  options: string[],
  use: (service: ReturnType<typeof serviceClient>, terminal: FakeTerminal) => Promise<void>,
): Promise<void> {
  const terminal = new FakeTerminal();
  const port = await freePort();
  const ending = run(['emulator', '--port', `${port}`, '--job-time', '1h', ...options], terminal);
  await eventually('the emulator is up', () => terminal.listeners > 0);
  try {
    await use(serviceClient({ url: `http://127.0.0.1:${port}`, apiKey: 'emulator-key' }), terminal);
  } finally {
    terminal.interrupt();
    expect(await ending).toBe(0);
  }
}

test('--tasks-file remembers the tasks over a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-tasks-'));
  const options = ['--tasks-file', join(folder, 'tasks')];
  let taskId = '';
  await whileRunning(options, async ({ submit }) => {
    taskId = taskIdOf(await submit());
  });
  await whileRunning(options, async ({ poll }) => {
    expect((await poll(taskId)).status).toBe(200);
  });
  await rm(folder, { recursive: true });
});

test.each(['much', '', '-1'])('--charge %j is refused in one sentence', async (text) => {
  const terminal = new FakeTerminal();
  expect(await run(['emulator', `--charge=${text}`], terminal)).toBe(2);
  expect([terminal.stdout, terminal.stderr]).toEqual([
    '',
    `--charge is ${JSON.stringify(text)}: give an amount in dollars, such as 0.25.\n`,
  ]);
});

test('each call prints a line with the task that it made, so that a lost task can be found', () =>
  whileRunning(['--fault', 'submit:reset'], async ({ submit }, terminal) => {
    await expect(submit()).rejects.toThrow();
    await submit();
    const lines = () => terminal.stderr.split('\n').filter((line) => line.startsWith('POST'));
    await eventually('both lines are printed', () => lines().length === 2);
    expect(lines()).toEqual([
      expect.stringMatching(/^POST \/v1\/videos\/text-to-video: no answer, created task_[0-9a-f-]+$/),
      expect.stringMatching(/^POST \/v1\/videos\/text-to-video: 200, created task_[0-9a-f-]+$/),
    ]);
  }));

describe('a file of tasks', () => {
  const request = { prompt: 'two\nlines', seed: 7 };

  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-tasks-'));
    file = join(folder, 'tasks.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

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
});
