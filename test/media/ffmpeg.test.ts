import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasControls } from '../../src/contract/clean-text';
import { FfmpegFailed, type FfmpegLimits, runFfmpeg } from '../../src/media';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-ffmpeg-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A program in place of ffmpeg, which does what no real one does on demand. */
async function standIn(script: string): Promise<string> {
  const path = join(folder, `stand-in-${Math.random()}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

async function failureOf(
  script: string,
  limits: Partial<FfmpegLimits> = {},
  signal = new AbortController().signal,
): Promise<string> {
  const ffmpeg = await standIn(script);
  const error: unknown = await runFfmpeg({ ffmpeg, args: [], cwd: folder, signal, limits }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FfmpegFailed)) throw new Error(`no failure of ffmpeg: ${String(error)}`);
  return error.message;
}

const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const pidIn = async (file: string) => Number(await readFile(file, 'utf8'));

test('a process that takes too long is killed', async () => {
  const file = join(folder, 'late');
  expect(await failureOf(`echo $$ > ${file}; exec sleep 60`, { timeMs: 300 })).toBe(
    'decoding took more than 0.3 s',
  );
  expect(isRunning(await pidIn(file))).toBe(false);
});

test('the ffmpeg that a script of yours runs is killed with the script', async () => {
  const file = join(folder, 'wrapped');
  const wrapper = `sh -c 'echo $$ > ${file}; exec sleep 60'; exit 0`;
  expect(await failureOf(wrapper, { timeMs: 300 })).toBe('decoding took more than 0.3 s');
  await untilDead(await pidIn(file));
});

/** A killed process without a parent may stay in the list of processes, as a zombie. */
async function untilDead(pid: number): Promise<void> {
  const stateOf = () => spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  while (/^[^Z\s]/.test(stateOf())) await new Promise((resolve) => setImmediate(resolve));
}

test('a process that takes too much memory is killed', async () => {
  const greedy = `exec ${process.execPath} -e "const a = []; setInterval(() => a.push(Buffer.alloc(2e7, 1)), 5)"`;
  expect(await failureOf(greedy, { memoryBytes: 200 * 1024 ** 2 })).toBe(
    'decoding took more than 200 MiB of memory',
  );
});

test.each(['exec cat /dev/zero >&3', 'exec cat /dev/zero'])(
  'a process that writes too much is killed: %s',
  async (script) => {
    expect(await failureOf(script, { outputBytes: 1024 ** 2 })).toBe('ffmpeg wrote more than 1 MiB');
  },
);

test('a process ends with its cancellation, which is what the caller gets', async () => {
  const file = join(folder, 'cancelled');
  const cancelled = new AbortController();
  const ffmpeg = await standIn(`echo $$ > ${file}; echo started; exec sleep 60`);
  const running = runFfmpeg({ ffmpeg, args: [], cwd: folder, signal: cancelled.signal });
  const pid = await untilWritten(file);
  cancelled.abort(new Error('the job was cancelled'));
  await expect(running).rejects.toThrow('the job was cancelled');
  expect(isRunning(pid)).toBe(false);
});

async function untilWritten(file: string): Promise<number> {
  for (;;) {
    const pid = await pidIn(file).catch(() => 0);
    if (pid > 0) return pid;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('what it says is one short line without control characters and paths of this machine', async () => {
  const said = await failureOf(
    `printf '\\033[31m[mov @ 0x55d0] file:%s/video: moov\\001 not\\tfound\\n' "${'$'}PWD" >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 183`,
  );
  expect(said).toBe('ffmpeg ended with code 183: [mov] the video moov not found');
  expect(hasControls(said)).toBe(false);
});

test('it gets no shell, no standard input and nothing of the environment', async () => {
  process.env.VIDEO_API_KEY = 'sk-secret';
  const ffmpeg = await standIn('exec >&3; printf "%s|" "$@"; /usr/bin/env; cat');
  const given = { ffmpeg, cwd: folder, signal: new AbortController().signal };
  const printed = String((await runFfmpeg({ ...given, args: ['$(id)', '; ls'] })).picture);
  delete process.env.VIDEO_API_KEY;
  expect(printed).toContain('-nostdin|');
  expect(printed).toContain('$(id)|; ls|');
  expect(printed).not.toContain('sk-secret');
});

test('frames are the lines that begin with a digit, however they come', async () => {
  const ffmpeg = await standIn('printf "#a\\n0, 1\\n0,"; sleep 0.1; printf " 2\\n1\\n"; printf picture >&3');
  const given = { ffmpeg, args: [], cwd: folder, signal: new AbortController().signal };
  expect(await runFfmpeg(given)).toEqual({ frames: 3, picture: Buffer.from('picture') });
});

test('one that does not exist is a reason, not a crash', async () => {
  const given = { ffmpeg: join(folder, 'none'), args: [], cwd: folder, signal: new AbortController().signal };
  await expect(runFfmpeg(given)).rejects.toThrow(/^it cannot be run: spawn .* ENOENT$/);
});
