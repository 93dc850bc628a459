import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { freePort } from '../../src/temporal-server/loopback-port';
import { FakeTerminal } from '../cli/fake-terminal';
import { eventually } from '../temporal-server/eventually';
import { FOX, serviceClient, taskIdOf } from './service-client';

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

test('without options the service has no limit and ignores keys', () =>
  whileRunning([], async ({ submit }) => {
    const answers = [await submit(FOX, 'k-1'), await submit(FOX, 'k-1'), await submit(FOX, 'k-1')];
    expect(new Set(answers.map(taskIdOf)).size).toBe(3);
  }));

test('--fault cuts the answers of the service', () =>
  whileRunning(['--fault', 'submit:cut-headers', 'submit:cut-body', 'submit:empty'], async ({ submit }) => {
    for (let i = 0; i < 3; i++) await expect(submit()).rejects.toThrow();
    expect((await submit()).status).toBe(200);
  }));

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
