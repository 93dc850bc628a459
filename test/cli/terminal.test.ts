import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTerminal, redrawOn } from '../../src/cli/terminal';
import { untilInterrupted } from '../../src/cli/until-interrupted';
import { FakeTerminal } from './fake-terminal';

const signals = ['SIGINT', 'SIGTERM'] as const;
const before = signals.map((signal) => process.listeners(signal));
afterEach(() => {
  for (const [index, signal] of signals.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!before[index]?.includes(listener)) process.off(signal, listener);
    }
  }
});

test.each(signals)('%s is heard once, by whoever listens', async (signal) => {
  const terminal = processTerminal();
  const heard: string[] = [];
  terminal.onInterrupt(() => heard.push('kept'));
  const takeBack = terminal.onInterrupt(() => heard.push('taken back'));
  takeBack();
  const waiting = untilInterrupted(terminal);
  process.emit(signal);
  await waiting;
  expect(heard).toEqual(['kept']);
});

test('a Ctrl-C that came before anybody listened is not lost', async () => {
  const terminal = processTerminal();
  process.emit('SIGINT');
  await untilInterrupted(terminal);
});

test('the second Ctrl-C leaves', () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('left');
  });
  const heard = jest.fn();
  processTerminal().onInterrupt(heard);
  process.emit('SIGINT');
  expect(() => process.emit('SIGINT')).toThrow('left');
  expect(exit).toHaveBeenCalledWith(130);
  expect(heard).toHaveBeenCalledTimes(1);
  exit.mockRestore();
});

test('a command whose reader has left goes on to its end', async () => {
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

test('a line that is redrawn takes the place of the last and fits the screen; a pipe has none', () => {
  const screen = new FakeTerminal({}, 11);
  const redraw = redrawOn(screen);
  redraw?.('Fetching: 12 %');
  redraw?.('');
  expect(screen.stderr).toBe('\r\u001b[KFetching: \r\u001b[K');
  expect(redrawOn(new FakeTerminal())).toBeUndefined();
});
