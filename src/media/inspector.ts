import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
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

type Answer = InspectionAnswer | 'ended' | 'late';

/** One process that inspects files. */
class Inspector {
  hasEnded = false;
  private onAnswer: ((answer: Answer) => void) | undefined;
  private stderr = '';

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer: InspectionAnswer) => this.onAnswer?.(answer));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-MAX_STDERR_LENGTH);
    });
    child.once('error', (error) => {
      this.stderr ||= error.message;
      this.end();
    });
    child.once('close', () => this.end());
    // An idle process does not keep this one alive; waiting for an answer does.
    child.unref();
    child.channel?.unref();
    if (child.stderr instanceof Socket) child.stderr.unref();
  }

  /** Rejects when the process cannot be started, whatever the file. */
  static async start(): Promise<Inspector> {
    const inspector = new Inspector(
      spawn(process.execPath, [...NODE_OPTIONS, ...INSPECT_ENTRY], {
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        // A process that reads untrusted bytes needs no keys, and no NODE_OPTIONS of its parent.
        env: {},
        windowsHide: true,
      }),
    );
    if (typeof (await inspector.nextAnswer(MAX_START_MS)) === 'object') return inspector;
    inspector.kill();
    throw new Error(
      `The process that inspects videos did not start: ${INSPECT_ENTRY.at(-1)} must exist as a file of its own, not bundled. ${inspector.stderr}`,
    );
  }

  /** The file can make the process end, or take for ever. */
  async inspect(path: string): Promise<Answer> {
    // The 'close' event reports a process that has ended.
    this.child.send(path, () => undefined);
    const answer = await this.nextAnswer(MAX_INSPECTION_MS);
    if (answer === 'late') this.kill();
    return answer;
  }

  kill(): void {
    this.hasEnded = true;
    this.child.kill('SIGKILL');
  }

  private async nextAnswer(timeoutMs: number): Promise<Answer> {
    if (this.hasEnded) return 'ended';
    return new Promise((resolve) => {
      // The answer may have come while this process was busy.
      const timer = setTimeout(() => setImmediate(resolve, 'late'), timeoutMs);
      this.onAnswer = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
    });
  }

  private end(): void {
    this.hasEnded = true;
    this.onAnswer?.('ended');
  }
}
