import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { run } from '../../src/cli/run';
import { FakeTerminal } from '../cli/fake-terminal';
import { eventually } from '../engine/eventually';
import { FOX, serviceClient, taskIdOf } from './service-client';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function whileRunning(
  options: string[],
  use: (service: ReturnType<typeof serviceClient>) => Promise<void>,
): Promise<void> {
  const terminal = new FakeTerminal();
  const port = await freePort();
  const ending = run(['emulator', '--port', `${port}`, '--job-time', '1h', ...options], terminal);
  await eventually('the emulator is up', () => terminal.listeners > 0);
  try {
    await use(serviceClient({ url: `http://127.0.0.1:${port}`, apiKey: 'emulator-key' }));
  } finally {
    terminal.interrupt();
    expect(await ending).toBe(0);
  }
}

test('--concurrent-tasks bounds what the command’s service works on at once', () =>
  whileRunning(['--concurrent-tasks', '2'], async ({ submit }) => {
    const answers = [await submit(), await submit(), await submit()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  }));

test('--honour-keys makes one task of two submits under one key', () =>
  whileRunning(['--honour-keys'], async ({ submit }) => {
    const [one, two] = [await submit(FOX, 'k-1'), await submit(FOX, 'k-1')];
    expect(taskIdOf(two)).toBe(taskIdOf(one));
  }));

test('without them the command’s service has no limit and ignores keys', () =>
  whileRunning([], async ({ submit }) => {
    const answers = [await submit(FOX, 'k-1'), await submit(FOX, 'k-1'), await submit(FOX, 'k-1')];
    expect(new Set(answers.map(taskIdOf)).size).toBe(3);
  }));

test('--fault cuts the answers of the command’s service', () =>
  whileRunning(['--fault', 'submit:cut-headers', 'submit:cut-body', 'submit:empty'], async ({ submit }) => {
    for (let i = 0; i < 3; i++) await expect(submit()).rejects.toThrow();
    expect((await submit()).status).toBe(200);
  }));

test.each(['x', '0', '-1', '2.5', '', 'Infinity'])(
  '--concurrent-tasks %j is refused in one sentence',
  async (text) => {
    const terminal = new FakeTerminal();
    expect(await run(['emulator', `--concurrent-tasks=${text}`], terminal)).toBe(2);
    expect([terminal.stdout, terminal.stderr]).toEqual([
      '',
      `--concurrent-tasks is ${JSON.stringify(text)}: give a whole number of at least 1.\n`,
    ]);
  },
);

test('the help of the command lists its options', async () => {
  const terminal = new FakeTerminal();
  expect(await run(['emulator', '--help'], terminal)).toBe(0);
  for (const option of ['port', 'job-time', 'concurrent-tasks', 'honour-keys', 'fault']) {
    expect(terminal.stdout).toContain(`\n  --${option} `);
  }
});
