import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTerminal, untilInterrupted } from '../../src/cli/terminal';

const signals = ['SIGINT', 'SIGTERM'] as const;
const before = signals.map((signal) => process.listeners(signal));
afterEach(() => {
  for (const [index, signal] of signals.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!before[index]?.includes(listener)) process.off(signal, listener);
    }
  }
});

test.each(signals)('%s calls every listener once', async (signal) => {
  const terminal = processTerminal();
  const called: string[] = [];
  terminal.onInterrupt(() => called.push('registered'));
  const remove = terminal.onInterrupt(() => called.push('removed'));
  remove();
  const waiting = untilInterrupted(terminal);
  process.emit(signal);
  await waiting;
  expect(called).toEqual(['registered']);
});

test('a Ctrl-C before the first listener is not lost', async () => {
  const terminal = processTerminal();
  process.emit('SIGINT');
  await untilInterrupted(terminal);
});

test('the second Ctrl-C exits', () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('exited');
  });
  const called = jest.fn();
  processTerminal().onInterrupt(called);
  process.emit('SIGINT');
  expect(() => process.emit('SIGINT')).toThrow('exited');
  expect(exit).toHaveBeenCalledWith(130);
  expect(called).toHaveBeenCalledTimes(1);
  exit.mockRestore();
});

test('a command finishes even if the reader of its output is gone', async () => {
  const script = `
    const { processTerminal } = require('./dist/src/cli/terminal');
    const terminal = processTerminal();
    let lines = 0;
    const timer = setInterval(() => {
      terminal.out('a line');
      terminal.err('a line\\n');
      if (++lines === 20) { clearInterval(timer); require('fs').writeFileSync(process.argv[1], 'the end'); process.exit(0); }
    }, 20);
  `;
  const folder = mkdtempSync(join(tmpdir(), 'videogen-pipe-'));
  const end = join(folder, 'end');
  const child = spawn(process.execPath, ['-e', script, end], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  child.stderr.destroy();
  const [code] = await once(child, 'exit');
  expect([code, existsSync(end)]).toEqual([0, true]);
  rmSync(folder, { recursive: true });
});

/** Writing to a file fails as on a full disk, on every system: no file may grow. */
async function endOnFullDisk(args: string[], full: 'stdout' | 'stderr') {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-full-'));
  const to = `${full === 'stdout' ? '>' : '2>'}"${join(folder, 'full')}"`;
  const command = [process.execPath, 'dist/src/cli/main.js', ...args];
  const child = spawn('sh', ['-c', `ulimit -f 0 && exec "$0" "$@" ${to}`, ...command]);
  let printed = '';
  child[full === 'stdout' ? 'stderr' : 'stdout'].on('data', (chunk: Buffer) => {
    printed += chunk;
  });
  const [code] = await once(child, 'close');
  rmSync(folder, { recursive: true });
  return { code, printed };
}

test('a result that cannot be printed is reported in one sentence, with exit code 1', async () => {
  expect(await endOnFullDisk(['--version'], 'stdout')).toEqual({
    code: 1,
    printed: expect.stringMatching(/^The result could not be written to standard output: EFBIG[^\n]+\.\n$/),
  });
});

test('a failed command keeps its exit code if its result cannot be printed', async () => {
  const { code, printed } = await endOnFullDisk(['batch', 'no-such-file', '--json'], 'stdout');
  expect(code).toBe(2);
  expect(printed).toMatch(/^no-such-file cannot be read \(ENOENT\)[^\n]+\nThe result could not be /);
});

test('a full standard error does not stop a command', async () => {
  expect(await endOnFullDisk(['batch', 'no-such-file', '--json'], 'stderr')).toEqual({
    code: 2,
    printed: expect.stringMatching(/^\{"error":.*\}\n$/),
  });
});
