import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CopyFailed, checkOut, copyOut } from '../../src/cli/copy-out';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { processTerminal } from '../../src/cli/terminal';
import { failureOf } from '../support/world';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-output-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('--out', () => {
  const BYTES = Buffer.alloc(3_000_000, 'fox');

  let uri: string;
  beforeEach(() => {
    writeFileSync(join(folder, 'a fox.mp4'), BYTES);
    uri = pathToFileURL(join(folder, 'a fox.mp4')).href;
  });

  const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

  it('copies the whole video, replaces an older file, creates folders, and leaves no temporary file', async () => {
    const target = join(folder, 'new/folders/fox.mp4');
    expect(await copyOut(uri, relative(process.cwd(), target))).toBe(target);
    writeFileSync(target, 'old');
    expect(await copyOut(uri, target)).toBe(target);
    expect(readFileSync(target).equals(BYTES)).toBe(true);
    expect(files()).toEqual(['a fox.mp4', 'new', 'new/folders', 'new/folders/fox.mp4']);
    // Without it, the result is the path of the stored video.
    expect(await copyOut(uri, undefined)).toBe(join(folder, 'a fox.mp4'));
  });

  it.each<[string, string, () => void]>([
    ['ENOTDIR:', 'file/fox.mp4', () => writeFileSync(join(folder, 'file'), '')],
    ['ENOENT:', 'fox.mp4', () => rmSync(join(folder, 'a fox.mp4'))],
  ])('that fails (%s) says where the video is, and leaves no partial file', async (problem, out, prepare) => {
    const stored = join(folder, 'a fox.mp4');
    const target = join(folder, out);
    prepare();
    const before = files();
    const failure = await failureOf(copyOut(uri, target));
    expect(failure).toBeInstanceOf(CopyFailed);
    expect(exitCodeOf(failure)).toBe(15);
    expect(String(failure)).toContain(
      `The video is at ${stored}, but could not be copied to ${target}: ${problem}`,
    );
    expect(files()).toEqual(before);
  });

  it.each<[string, (target: string) => unknown]>([
    ['a folder', (target) => mkdirSync(target)],
    ['a FIFO', (target) => execFileSync('mkfifo', [target])],
    ['a link to a file', (target) => symlinkSync(join(folder, 'a fox.mp4'), target)],
  ])('never replaces %s, which is refused before anything is generated', async (_what, make) => {
    const target = join(folder, 'taken');
    make(target);
    const before = lstatSync(target).ino;
    for (const refusal of [await failureOf(copyOut(uri, target)), await failureOf(checkOut(target))]) {
      expect(refusal).toBeInstanceOf(CopyFailed);
      expect(String(refusal)).toContain(`${target} exists and is not a regular file`);
    }
    expect(lstatSync(target).ino).toBe(before);
    expect(files()).toEqual(['a fox.mp4', 'taken']);
  });
});

describe('Ctrl-C', () => {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const before = signals.map((signal) => process.listeners(signal));
  afterEach(() => {
    for (const [index, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!before[index]?.includes(listener)) process.off(signal, listener);
      }
    }
  });

  it('exits the second time', () => {
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
});

describe('a command', () => {
  it('finishes even if the reader of its output is gone', async () => {
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
    const end = join(folder, 'end');
    const child = spawn(process.execPath, ['-e', script, end], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    child.stderr.destroy();
    const [code] = await once(child, 'exit');
    expect([code, existsSync(end)]).toEqual([0, true]);
  });

  /** Writing to a file fails as on a full disk, on every system: no file may grow. */
  async function endOnFullDisk(args: string[], full: 'stdout' | 'stderr') {
    const to = `${full === 'stdout' ? '>' : '2>'}"${join(folder, 'full')}"`;
    const command = [process.execPath, 'dist/src/cli/main.js', ...args];
    const child = spawn('sh', ['-c', `ulimit -f 0 && exec "$0" "$@" ${to}`, ...command]);
    let printed = '';
    child[full === 'stdout' ? 'stderr' : 'stdout'].on('data', (chunk: Buffer) => {
      printed += chunk;
    });
    const [code] = await once(child, 'close');
    return { code, printed };
  }

  it('reports a result that cannot be printed in one sentence, with exit code 1 unless it failed anyway', async () => {
    const sentence = /^The result could not be written to standard output: EFBIG[^\n]+\.\n$/;
    const end = await endOnFullDisk(['--version'], 'stdout');
    expect(end).toEqual({ code: 1, printed: expect.stringMatching(sentence) });
    expect(await endOnFullDisk(['batch', 'no-such-file', '--json'], 'stdout')).toMatchObject({ code: 2 });
  });

  it('does not stop for a full standard error', async () => {
    const end = await endOnFullDisk(['batch', 'no-such-file', '--json'], 'stderr');
    expect(end).toEqual({ code: 2, printed: expect.stringMatching(/^\{"error":.*\}\n$/) });
  });
});
