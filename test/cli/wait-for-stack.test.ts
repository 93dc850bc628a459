import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { openLocalStack } from '../../src/cli/local-stack';
import { printLine } from '../../src/cli/terminal';
import { ProcessLock } from '../../src/temporal-server';
import { FakeTerminal } from './fake-terminal';

test('a command that waits for another process to start the stack says so once, and Ctrl-C ends the wait', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-wait-'));
  const lock = new ProcessLock(join(folder, 'stack.lock'));
  await lock.tryTake();
  const env = { VIDEOGEN_DATA: folder, VIDEOGEN_STORAGE: join(folder, 'videos') };
  const terminal = new FakeTerminal(env);
  const opening = openLocalStack({ env, terminal, printLine: (line) => printLine(terminal, line) }).catch(
    (error: unknown) => error,
  );
  while (terminal.stderr === '') await sleep(50);
  await sleep(500);
  expect(terminal.stderr).toBe(
    `Waiting for process ${process.pid} on ${hostname()}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting.\n`,
  );
  terminal.interrupt();
  const error = await opening;
  expect(exitCodeOf(error)).toBe(130);
  expect(error).toMatchObject({
    message: `Stopped before anything was started: process ${process.pid} still uses ${folder}.`,
  });
  expect(terminal.listeners).toBe(0);
  await lock.release();
  rmSync(folder, { recursive: true });
}, 20_000);
