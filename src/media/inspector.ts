import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { INSPECT_ENTRY } from './inspect-entry';
import type { InspectionAnswer } from './inspect-process';
import type { VideoInspection } from './inspect-video';

/** Most files take some hundredths of a second; it is wall time, and a busy machine must not fail a good video. */
const MAX_INSPECTION_MS = 20_000;
const MAX_START_MS = 60_000;
/** A file that needs more is hostile. Buffers are outside the heap: each read is bounded, and the size is checked after it. */
const NODE_OPTIONS = ['--max-old-space-size=256', '--max-semi-space-size=4'];
/** The process takes 60 MiB at its start, and keeps some of what a large file needed. */
const MAX_RSS_BYTES = 256 * 1024 * 1024;
/** As much of stderr as fits into an error message. */
const MAX_STDERR_LENGTH = 500;

const TOO_MUCH: VideoInspection = {
  kind: 'no-video',
  reason: 'reading its tables takes more time or memory than any video needs',
};

let kept: Inspector | undefined;
let queue: Promise<unknown> = Promise.resolve();

/**
 * Inspects a file in another process, which can be killed whatever it does. One process is kept for all files, one after
 * the other: to start it takes as long as a dozen inspections.
 */
export function inspectFile(path: string): Promise<VideoInspection> {
  const inspection = queue.then(() => inspectNow(path));
  queue = inspection.catch(() => undefined);
  return inspection;
}

/** Ends the process, which the next inspection starts again. */
export function endInspector(): void {
  kept?.kill();
  kept = undefined;
}

async function inspectNow(path: string): Promise<VideoInspection> {
  const reused = kept?.hasEnded ? undefined : kept;
  const first = reused ?? (await Inspector.start());
  kept = first;
  const answer = await first.inspect(path);
  // A reused process may have ended for another reason, so only a fresh one proves that the file takes too much.
  if (answer === 'ended' && reused) return inspectNow(path);
  if (answer === 'ended' || answer === 'late') return TOO_MUCH;
  if (answer.rssBytes > MAX_RSS_BYTES) first.kill();
  if (answer.inspection === undefined) throw new Error(`the file cannot be inspected: ${answer.error}`);
  return answer.inspection;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** One process that inspects files. */
class Inspector {
  hasEnded = false;
  private onLine: ((line: string | 'ended' | 'late') => void) | undefined;
  private stderr = '';

  private constructor(private readonly child: Child) {
    createInterface({ input: child.stdout }).on('line', (line) => this.onLine?.(line));
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

  /** Rejects when the process cannot be started, whatever the file. */
  static async start(): Promise<Inspector> {
    const inspector = new Inspector(
      spawn(process.execPath, [...NODE_OPTIONS, ...INSPECT_ENTRY], {
        stdio: ['pipe', 'pipe', 'pipe'],
        // A process that reads untrusted bytes needs no keys, and no NODE_OPTIONS of its parent.
        env: {},
        windowsHide: true,
      }),
    );
    if ((await inspector.line(MAX_START_MS)) === '"ready"') return inspector;
    inspector.kill();
    throw new Error(
      `The process that inspects videos did not start: ${INSPECT_ENTRY.at(-1)} must exist as a file of its own, not bundled. ${inspector.stderr}`,
    );
  }

  /** The file can make the process end, or take for ever. */
  async inspect(path: string): Promise<InspectionAnswer | 'ended' | 'late'> {
    this.child.stdin.write(`${JSON.stringify(path)}\n`);
    const line = await this.line(MAX_INSPECTION_MS);
    try {
      return line === 'late' || line === 'ended' ? line : JSON.parse(line);
    } catch {
      // It ended within its answer.
      return 'ended';
    } finally {
      if (line === 'late') this.kill();
    }
  }

  kill(): void {
    this.hasEnded = true;
    this.child.kill('SIGKILL');
  }

  /** The next line. Only meanwhile does the process keep this one alive. */
  private async line(timeoutMs: number): Promise<string | 'ended' | 'late'> {
    if (this.hasEnded) return 'ended';
    this.keepsAlive('ref');
    const line = await new Promise<string | 'ended' | 'late'>((resolve) => {
      // The answer may have come while this process was busy.
      const timer = setTimeout(() => setImmediate(resolve, 'late'), timeoutMs);
      this.onLine = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
    });
    this.onLine = undefined;
    this.keepsAlive('unref');
    return line;
  }

  /** Pipes are sockets, which keep a process alive; their types do not say it. */
  private keepsAlive(how: 'ref' | 'unref'): void {
    this.child[how]();
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr]) {
      const change: unknown = Reflect.get(pipe, how);
      if (typeof change === 'function') change.call(pipe);
    }
  }

  private end(): void {
    this.hasEnded = true;
    this.onLine?.('ended');
  }
}
