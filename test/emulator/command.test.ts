import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { freePort } from '../../src/temporal-server/loopback-port';
import { TaskStore } from '../../src/testing/task-store';
import { runHere } from '../cli/cli-here';
import { FakeTerminal } from '../cli/fake-terminal';
import { eventually } from '../temporal-server/eventually';
import { serviceClient, taskIdOf } from './service-client';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-emulator-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Running extends ReturnType<typeof serviceClient> {
  url: string;
  terminal: FakeTerminal;
}

async function whileRunning(
  options: string[],
  use: (running: Running) => Promise<void>,
  apiKey?: string,
): Promise<void> {
  const terminal = new FakeTerminal({ VIDEO_API_KEY: apiKey });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const ending = run(['emulator', '--port', `${port}`, '--job-time', '1h', ...options], terminal);
  await eventually('the emulator is up', () => terminal.listeners > 0);
  try {
    await use({ ...serviceClient({ url, apiKey: apiKey ?? 'emulator-key' }), url, terminal });
  } finally {
    terminal.interrupt();
    expect(await ending).toBe(0);
  }
}

const FAILING_SUBMIT = ['--fault', 'submit:server-error'];

test('the command answers with the configured key and faults until Ctrl-C', async () => {
  let submitAfterwards: (() => Promise<unknown>) | undefined;
  const use = async ({ url, terminal, ask, submit }: Running) => {
    expect(terminal.stderr).toContain(`The emulated video service is at ${url}. Ctrl-C ends it.`);
    expect(terminal.stderr).not.toContain('sk-emulated');
    const headers = { authorization: 'Bearer sk-wrong' };
    expect((await ask('POST', '/v1/videos/text-to-video', { headers })).status).toBe(401);
    expect((await submit()).status).toBe(500);
    expect(taskIdOf(await submit())).toMatch(/^task_/);
    submitAfterwards = submit;
  };
  await whileRunning(FAILING_SUBMIT, use, 'sk-emulated');
  await expect(submitAfterwards?.()).rejects.toThrow();
});

test('a port that is in use is said in one sentence', async () => {
  const server = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { code, out, err } = await runHere(['emulator', '--port', `${port}`]);
  await new Promise((resolve) => server.close(resolve));
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(
    /^The emulator cannot listen on 127\.0\.0\.1:\d+ \(listen EADDRINUSE: address already in use[^\n]+\.\n$/,
  );
});

test.each<[string[], RegExp]>([
  [['--job-time', '5'], /^--job-time is "5": give a length of time such as 5s\.\n$/],
  [['--fault', 'submit:explode'], /^--fault is "submit:explode": give CALL:KIND .*\.\n$/],
  [['--charge='], /^--charge is "": give an amount in dollars, such as 0\.25\.\n$/],
  [['--charge=-1'], /^--charge is "-1": give an amount in dollars, such as 0\.25\.\n$/],
])('%j is refused before it listens', async (args, sentence) => {
  const port = `${await freePort()}`;
  const end = await runHere(['emulator', '--port', port, ...args]);
  expect(end).toEqual({ code: 2, out: '', err: expect.stringMatching(sentence) });
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed');
});

test('a malformed key is refused without printing it', async () => {
  writeFileSync(join(folder, 'key'), 'sk secret');
  const { code, err } = await runHere(['emulator'], { VIDEO_API_KEY_FILE: join(folder, 'key') });
  expect(code).toBe(2);
  expect(err).toMatch(/^VIDEO_API_KEY_FILE holds a space, [^\n]+\.\n$/);
  expect(err).not.toContain('secret');
});

test('each call prints a line with the task that it made, so that a lost task can be found', () =>
  whileRunning(['--fault', 'submit:reset'], async ({ submit, terminal }) => {
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

  let file: string;
  beforeEach(() => {
    file = join(folder, 'tasks.jsonl');
  });
  const tasksInFile = () => [...new TaskStore(1_000, file).tasks.keys()];

  it('is remembered over a restart', async () => {
    let taskId = '';
    await whileRunning(['--tasks-file', file], async ({ submit }) => {
      taskId = taskIdOf(await submit());
    });
    await whileRunning(['--tasks-file', file], async ({ poll }) => {
      expect((await poll(taskId)).status).toBe(200);
    });
  });

  it('may have lines that a crash cut off: they are skipped, and the next task is stored', () => {
    const { taskId } = new TaskStore(1_000, file).create(request, 0);
    appendFileSync(file, '{"taskId":"task_cut","requ');
    const next = new TaskStore(1_000, file).create(request, 0);
    expect(tasksInFile()).toEqual([taskId, next.taskId]);
  });

  it('may be that of two emulators, which read the tasks from before their start and lose none', () => {
    const [one, two] = [new TaskStore(1_000, file), new TaskStore(1_000, file)];
    const ids = [one, two, one].map((store) => store.create(request, 0).taskId);
    expect(tasksInFile()).toEqual(ids);
  });
});
