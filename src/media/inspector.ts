import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { INSPECT_ENTRY } from './inspect-entry';
import type { VideoInspection } from './inspect-video';
import { encodeRequest, type InspectionRequest } from './inspection-request';

/** Bounds the memory when many downloads end together. An inspection takes some thousandths of a second. */
const MAX_PROCESSES = 2;
/** To start a process takes as much as a hundred inspections: a second one starts only when a video waits this long. */
const LONGEST_WAIT_MS = 1_000;
/** Longer than the pause between two polls of a batch: its videos come in groups. */
const IDLE_MS = 30_000;

const TOO_MUCH: VideoInspection = {
  kind: 'no-video',
  reason: 'reading its tables takes more time or memory than any video needs',
};

const idle: Inspector[] = [];
const waiting: (() => void)[] = [];
let running = 0;

/**
 * Inspects a video in another process, which can be killed whatever it does. A thread is not enough: V8 limits a thread's
 * heap in steps, and a single allocation beyond the limit, such as for a table in a hostile file, ends the whole process.
 */
export async function inspectInProcess(request: InspectionRequest): Promise<VideoInspection> {
  await takeTurn();
  try {
    const reused = takeIdle();
    const inspection =
      (reused && (await inspectWith(reused, request))) ??
      (await inspectWith(await Inspector.start(), request));
    // A reused process may have ended for another reason, so only a fresh one proves that the video takes too much.
    return inspection ?? TOO_MUCH;
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

async function takeTurn(): Promise<void> {
  if (running === 0 || (running < MAX_PROCESSES && idle.length > 0)) {
    running++;
    return;
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      if (running === MAX_PROCESSES) return;
      waiting.splice(waiting.indexOf(takeIt), 1);
      running++;
      resolve();
    }, LONGEST_WAIT_MS);
    const takeIt = () => {
      clearTimeout(timer);
      resolve();
    };
    waiting.push(takeIt);
  });
}

async function inspectWith(
  inspector: Inspector,
  request: InspectionRequest,
): Promise<VideoInspection | undefined> {
  const inspection = await inspector.inspect(request);
  if (inspection) addIdle(inspector);
  return inspection;
}

function takeIdle(): Inspector | undefined {
  for (let inspector = idle.pop(); inspector; inspector = idle.pop()) {
    if (inspector.hasEnded) continue;
    inspector.ref();
    return inspector;
  }
  return undefined;
}

function addIdle(inspector: Inspector): void {
  inspector.unref();
  idle.push(inspector);
  setTimeout(() => {
    const index = idle.indexOf(inspector);
    if (index < 0) return;
    idle.splice(index, 1);
    inspector.kill();
  }, IDLE_MS).unref();
}

/** A last resort: the process kills itself earlier by its memory, of which V8 counts only a part. */
const NODE_OPTIONS = ['--max-old-space-size=512', '--max-semi-space-size=4'];
/** For a process that waits forever: it measures its processor time itself. */
const MAX_INSPECTION_MS = 60_000;
const MAX_START_MS = 60_000;
/** As much of stderr as fits into an error message. */
const MAX_STDERR_LENGTH = 500;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** One process that inspects videos. */
class Inspector {
  private onLine: ((line: string | undefined) => void) | undefined;
  private stderr = '';
  private isOver = false;

  private constructor(private readonly child: Child) {
    createInterface({ input: child.stdout }).on('line', (line) => this.receive(line));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-MAX_STDERR_LENGTH);
    });
    // The 'close' event below reports a process that has ended.
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => {
      this.stderr ||= error.message;
      this.end();
    });
    child.once('close', () => this.end());
  }

  /** Rejects when the process cannot be started, whatever the video. */
  static async start(): Promise<Inspector> {
    const inspector = new Inspector(
      spawn(process.execPath, [...NODE_OPTIONS, ...INSPECT_ENTRY], {
        stdio: ['pipe', 'pipe', 'pipe'],
        // A process that reads untrusted bytes needs no keys, and no NODE_OPTIONS of its parent.
        env: {},
        windowsHide: true,
      }),
    );
    if ((await inspector.line(MAX_START_MS)) === 'ready') return inspector;
    inspector.kill();
    throw new Error(
      `The process that inspects videos did not start: ${INSPECT_ENTRY.at(-1)} must exist as a file of its own, not bundled. ${inspector.stderr}`,
    );
  }

  /** Undefined when the process ended: it took too much time or memory, or the reader has a bug. */
  async inspect(request: InspectionRequest): Promise<VideoInspection | undefined> {
    for (const piece of encodeRequest(request)) this.child.stdin.write(piece);
    const inspection = parseInspection(await this.line(MAX_INSPECTION_MS));
    if (!inspection) this.kill();
    return inspection;
  }

  /** Lets this process exit while the inspector is idle. */
  unref(): void {
    this.child.unref();
    for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) unrefStream(stream);
  }

  ref(): void {
    this.child.ref();
  }

  get hasEnded(): boolean {
    return this.isOver;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private line(timeoutMs: number): Promise<string | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // The answer may have come while this process was busy.
        setImmediate(() => this.receive(undefined));
      }, timeoutMs);
      this.onLine = (line) => {
        clearTimeout(timer);
        this.onLine = undefined;
        resolve(line);
      };
      if (this.isOver) this.receive(undefined);
    });
  }

  private receive(line: string | undefined): void {
    this.onLine?.(line);
  }

  private end(): void {
    this.isOver = true;
    this.receive(undefined);
  }
}

/** Undefined for an incomplete line, from a process that ended while it answered. */
function parseInspection(line: string | undefined): VideoInspection | undefined {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Pipes are sockets, which keep a process alive; their types lack `unref`. */
function unrefStream(stream: object): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
}
