import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cleanText } from '../contract/clean-text';

/** Why a picture could not be made; the message is a part of a sentence. */
export class FfmpegFailed extends Error {
  override readonly name = 'FfmpegFailed';
}

/** What one run of ffmpeg may take. A video of this field has seconds, and decodes faster than it plays. */
export interface FfmpegLimits {
  /** Wall time, after which the process is killed. */
  timeMs: number;
  /** Processor time, which the process watches itself: it ends even if this one is killed. */
  processorSeconds: number;
  /** Memory of the whole process, on Linux. */
  memoryBytes: number;
  /** One allocation. Everywhere. */
  allocationBytes: number;
  /** What it may write, for the picture and for the lines about frames. */
  outputBytes: number;
}

export const FFMPEG_LIMITS: FfmpegLimits = {
  timeMs: 120_000,
  processorSeconds: 120,
  memoryBytes: 1024 ** 3,
  allocationBytes: 512 * 1024 ** 2,
  outputBytes: 64 * 1024 ** 2,
};

/** A decoder gains little from more, and a worker has other work. */
export const FFMPEG_THREADS = 2;

/** As much of stderr as fits into a message. */
const MOST_STDERR_CHARS = 2_000;
const LONGEST_REASON_CHARS = 300;
const WATCH_EVERY_MS = 100;
const PAGE_BYTES = 4_096;
const HAS_GROUPS = process.platform !== 'win32';
const [ZERO, NINE, LINE_END] = [0x30, 0x39, 0x0a];

/** Where ffmpeg writes the picture to. */
export const PICTURE_PIPE = 'pipe:3';
/** Where it writes a line for each frame to, at once. */
export const FRAMES_PIPE = 'pipe:1';

export interface FfmpegRun {
  /** The executable: an absolute path. */
  ffmpeg: string;
  args: readonly string[];
  /** The folder it runs in. */
  cwd: string;
  signal: AbortSignal;
  limits?: Partial<FfmpegLimits>;
}

/** What ffmpeg wrote: how many lines that begin with a digit, one for each frame, and the picture. */
export interface FfmpegOutput {
  frames: number;
  picture: Buffer;
}

/**
 * Runs ffmpeg on a file that may be hostile: without a shell, a terminal and an environment, and within limits. If this process
 * is killed, ffmpeg ends with the next line that it writes, which nobody reads any more, or else by its own limit.
 */
export async function runFfmpeg({ ffmpeg, args, cwd, signal, limits }: FfmpegRun): Promise<FfmpegOutput> {
  signal.throwIfAborted();
  const { timeMs, processorSeconds, memoryBytes, allocationBytes, outputBytes } = {
    ...FFMPEG_LIMITS,
    ...limits,
  };
  const bounds = ['-timelimit', String(processorSeconds), '-max_alloc', String(allocationBytes)];
  const child = spawn(ffmpeg, ['-nostdin', '-hide_banner', '-loglevel', 'error', ...bounds, ...args], {
    cwd,
    // A process that reads untrusted bytes needs no keys, and no settings of its parent.
    env: { AV_LOG_FORCE_NOCOLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A group of its own, which can be killed as a whole.
    detached: HAS_GROUPS,
    windowsHide: true,
  });
  let tooMuch: string | undefined;
  const stop = (why?: string) => {
    tooMuch ??= why;
    killWhole(child);
  };
  const onAbort = () => stop();
  signal.addEventListener('abort', onAbort, { once: true });
  const late = setTimeout(() => stop(`decoding took more than ${timeMs / 1_000} s`), timeMs);
  const memory = setInterval(async () => {
    const used = await residentBytes(child.pid);
    if (used > memoryBytes) stop(`decoding took more than ${memoryBytes / 1024 ** 2} MiB of memory`);
  }, WATCH_EVERY_MS);
  const picture: Buffer[] = [];
  let bytes = 0;
  let frames = 0;
  let isLineStart = true;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > outputBytes) stop(`ffmpeg wrote more than ${outputBytes / 1024 ** 2} MiB`);
  };
  child.stdout?.on('data', (chunk: Buffer) => {
    count(chunk);
    for (const byte of chunk) {
      if (isLineStart && byte >= ZERO && byte <= NINE) frames++;
      isLineStart = byte === LINE_END;
    }
  });
  child.stdio[3]?.on('data', (chunk: Buffer) => {
    count(chunk);
    if (tooMuch === undefined) picture.push(chunk);
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, MOST_STDERR_CHARS);
  });
  try {
    const ending = await new Promise<string | undefined>((resolve) => {
      child.once('error', (error) => resolve(`it cannot be run: ${error.message}`));
      child.once('close', (code, killed) => resolve(code === 0 ? undefined : endingOf(code, killed)));
    });
    signal.throwIfAborted();
    const problem = tooMuch ?? (ending && [ending, reasonIn(said, cwd)].filter(Boolean).join(': '));
    if (problem !== undefined) throw new FfmpegFailed(problem);
    return { frames, picture: Buffer.concat(picture) };
  } finally {
    clearTimeout(late);
    clearInterval(memory);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Also what it has started: the executable may be a script around ffmpeg, which alone would leave ffmpeg and its pipes behind. */
function killWhole(child: ChildProcess): void {
  try {
    if (HAS_GROUPS && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
  child.kill('SIGKILL');
  for (const pipe of child.stdio) pipe?.destroy();
}

function endingOf(code: number | null, killed: NodeJS.Signals | null): string {
  return code === null ? `ffmpeg was ended by ${killed}` : `ffmpeg ended with code ${code}`;
}

/** Its last line mostly repeats the first. Paths and addresses of this machine say nothing about the video. */
function reasonIn(said: string, cwd: string): string {
  const [line = ''] = said.split('\n').filter((one) => one.trim() !== '');
  const plain = line
    .replaceAll(cwd, '')
    .replace(/file:\S+/g, 'the video')
    .replace(/ @ 0x[0-9a-f]+/g, '');
  return cleanText(plain, LONGEST_REASON_CHARS);
}

/** Zero where it cannot be known: there, the limits of single allocations, threads and pixels have to do. */
async function residentBytes(pid: number | undefined): Promise<number> {
  if (pid === undefined || process.platform !== 'linux') return 0;
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  return Number(statm.split(' ')[1] ?? 0) * PAGE_BYTES;
}
