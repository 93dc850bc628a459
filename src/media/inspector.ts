import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { INSPECT_ENTRY } from './inspect-entry';
import { type InspectionOrder, writeOrder } from './inspect-order';
import type { VideoInspection } from './inspect-video';

/** Only a last resort: the process ends itself by its memory first, which V8 does not count all of. */
const NODE_OPTIONS = ['--max-old-space-size=512', '--max-semi-space-size=4'];
/** The process counts its processor time itself. This is for one that waits for something that never comes. */
const MOST_LOOK_MS = 60_000;
const MOST_START_MS = 60_000;
/** As much of what a process says in its last moments as a message can take. */
const MOST_LAST_WORDS = 500;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** One process that looks at videos. */
export class Inspector {
  private onLine: ((line: string | undefined) => void) | undefined;
  private lastWords = '';
  private isOver = false;

  private constructor(private readonly child: Child) {
    createInterface({ input: child.stdout }).on('line', (line) => this.hear(line));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.lastWords = (this.lastWords + text).slice(-MOST_LAST_WORDS);
    });
    // A process that has ended is told of by its exit; what was on its way to it is of no use to anybody.
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => {
      this.lastWords ||= error.message;
      this.end();
    });
    child.once('close', () => this.end());
  }

  /** Rejects when it cannot be started, which no video is to blame for. */
  static async start(): Promise<Inspector> {
    const looker = new Inspector(
      spawn(process.execPath, [...NODE_OPTIONS, ...INSPECT_ENTRY], {
        stdio: ['pipe', 'pipe', 'pipe'],
        // What reads a stranger's bytes has no use for anybody's keys, nor for options that were meant for another process.
        env: {},
        windowsHide: true,
      }),
    );
    if ((await looker.line(MOST_START_MS)) === 'ready') return looker;
    looker.kill();
    throw new Error(
      `The process that looks at videos did not start; ${INSPECT_ENTRY.at(-1)} must be there, unbundled. ${looker.lastWords}`,
    );
  }

  /** Undefined when the process has ended over it: it took too much time or memory, or found a fault of the reader. */
  async look(order: InspectionOrder): Promise<VideoInspection | undefined> {
    for (const piece of writeOrder(order)) this.child.stdin.write(piece);
    const look = readLook(await this.line(MOST_LOOK_MS));
    if (!look) this.kill();
    return look;
  }

  /** While it is idle it keeps nobody's process from ending. */
  rest(): void {
    this.child.unref();
    for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) unref(stream);
  }

  wake(): void {
    this.child.ref();
  }

  get hasEnded(): boolean {
    return this.isOver;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private line(mostMs: number): Promise<string | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // The answer may have come while this process did something else.
        setImmediate(() => this.hear(undefined));
      }, mostMs);
      this.onLine = (line) => {
        clearTimeout(timer);
        this.onLine = undefined;
        resolve(line);
      };
      if (this.isOver) this.hear(undefined);
    });
  }

  private hear(line: string | undefined): void {
    this.onLine?.(line);
  }

  private end(): void {
    this.isOver = true;
    this.hear(undefined);
  }
}

/** Of a process that ended while it answered only a part of the line comes. */
function readLook(line: string | undefined): VideoInspection | undefined {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Pipes are sockets, which keep a process alive unless they are told not to; their types do not say so. */
function unref(stream: object): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
}
