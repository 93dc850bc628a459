import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRequest, type VideoRequest } from '../contract/request';
import { type EmulatedAnswer, json, lostAnswer, refusal, refusalAnswer, written } from './answers';
import { type Faults, isRefusal } from './faults';
import { fileAnswer } from './file-answer';
import { noiseVideo } from './noise-video';
import { pictureVideo } from './picture-video';
import { type EmulatedTask, TaskBook, type TaskFailure } from './task-book';
import { type EmulatedVideo, VideoShelf } from './video-shelf';

export interface OperationsOptions {
  /** From the submit of a task to its video. */
  jobTimeMs: number;
  /** Files of that many bytes of noise in place of videos that play: for tests that have no time, or want a size. */
  videoBytes?: number;
  /** What time it is for the tasks. */
  clock: () => number | Promise<number>;
  /** Where tasks are kept beyond the life of the emulator. */
  tasksFile?: string;
  /** How many tasks are worked on at once: a submit beyond them is refused. As many as come unless set. */
  concurrentTasks?: number;
  /** Whether a second submit under a key is the first one again. Ignored unless set, as most services do. */
  idempotencyKeys: 'ignored' | 'honoured';
}

export interface Submission {
  body?: unknown;
  needsImage: boolean;
  idempotencyKey?: string;
}

/** What the service does once it knows who asks: section 4 of its interface, and the files behind its links. */
export class Operations {
  readonly book: TaskBook;
  /** Links carry a secret, as signed links do, so that tests can look for it where it must not be. */
  readonly signature = randomBytes(16).toString('hex');
  private readonly shelf: VideoShelf;
  private readonly closing = new AbortController();

  constructor(private readonly options: OperationsOptions) {
    this.book = new TaskBook(options.jobTimeMs, options.tasksFile);
    const { videoBytes } = options;
    this.shelf = new VideoShelf(async (request) =>
      videoBytes === undefined ? pictureVideo(request, this.closing.signal) : noiseVideo(request, videoBytes),
    );
  }

  async submit(
    { body, needsImage, idempotencyKey }: Submission,
    fault?: Faults['submit'],
  ): Promise<EmulatedAnswer> {
    const parsed = parseRequest(body);
    if (!parsed.ok) return refusal(400, 'invalid_request', parsed.problem);
    if (needsImage && parsed.request.image_url === undefined) {
      return refusal(400, 'invalid_request', 'image_url is missing');
    }
    if (fault && isRefusal(fault)) return refusalAnswer(fault);
    const failure = fault?.kind === 'failed-task' ? { code: fault.code, message: fault.message } : undefined;
    const admitted = this.admit(parsed.request, await this.options.clock(), { idempotencyKey, failure });
    if ('refused' in admitted) return admitted.refused;
    const accepted = json(200, { task_id: admitted.task.taskId, status: 'queued' });
    if (!fault) return accepted;
    switch (fault.kind) {
      case 'failed-task':
        return accepted;
      case 'late':
        await sleep(fault.ms, undefined, { ref: false });
        return accepted;
      case 'reset-late':
        await sleep(fault.ms, undefined, { ref: false });
        return { kind: 'reset' };
      default:
        return lostAnswer(fault, () => accepted);
    }
  }

  async status(taskId: string, origin: string, fault?: Faults['status']): Promise<EmulatedAnswer> {
    const task = this.book.tasks.get(taskId);
    if (!task) return refusal(404, 'not_found', 'no such task');
    if (fault && isRefusal(fault)) return refusalAnswer(fault);
    const nowMs = await this.options.clock();
    const seen = () => {
      const view = this.book.view(task, nowMs);
      const link = view.status === 'succeeded' ? { video_url: this.link(task, origin) } : {};
      return json(200, { task_id: taskId, ...view, ...link });
    };
    if (!fault) return seen();
    switch (fault.kind) {
      case 'failed-task':
        this.book.fail(task, fault, nowMs);
        return seen();
      case 'unknown-state':
        return json(200, { task_id: taskId, status: fault.word });
      case 'no-video':
        return json(200, { task_id: taskId, status: 'succeeded' });
      default:
        return lostAnswer(fault, seen);
    }
  }

  /** The interface has no such call; a service that has one answers like this. */
  async cancel(taskId: string, fault?: Faults['cancel']): Promise<EmulatedAnswer> {
    const task = this.book.tasks.get(taskId);
    if (!task) return refusal(404, 'not_found', 'no such task');
    if (fault && isRefusal(fault)) return refusalAnswer(fault);
    const nowMs = await this.options.clock();
    const cancelled = this.book.cancel(task, nowMs);
    const view = this.book.view(task, nowMs);
    const answer = cancelled
      ? json(200, { task_id: taskId, ...view })
      : refusal(409, 'task_over', `the task is over: it is ${view.status}`);
    return fault ? lostAnswer(fault, () => answer) : answer;
  }

  /** The headers ask for a part of the file, or for all of it. */
  async download(
    taskId: string,
    signature: string | null,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    const task = this.book.tasks.get(taskId);
    if (!task || signature !== this.signature) return refusal(403, 'forbidden', 'the link is not valid');
    if (fault && isRefusal(fault)) return refusalAnswer(fault);
    const file = async () => fileAnswer(await this.video(task), headers);
    if (!fault) return file();
    switch (fault.kind) {
      case 'cut':
      case 'stall':
        return { ...(await file()), end: { after: fault.afterBytes, how: fault.kind } };
      case 'web-page':
        return written(200, 'text/html', '<p>This link has expired.</p>');
      default:
        return lostAnswer(fault, file);
    }
  }

  video({ request }: EmulatedTask): Promise<EmulatedVideo> {
    return this.shelf.get(request);
  }

  /** No work goes on for a service that is gone. */
  close(): void {
    this.closing.abort();
  }

  /**
   * The task of a submit, new or known by its key, or why there is none. Nothing is waited for in between, so that two
   * submits at once neither take the same place nor make a task each under the same key.
   */
  private admit(
    request: VideoRequest,
    nowMs: number,
    { idempotencyKey, failure }: { idempotencyKey?: string; failure?: TaskFailure },
  ): { task: EmulatedTask } | { refused: EmulatedAnswer } {
    const { concurrentTasks = Infinity, idempotencyKeys } = this.options;
    const known =
      idempotencyKeys === 'honoured' && idempotencyKey !== undefined && this.book.withKey(idempotencyKey);
    if (known && !isSameRequest(known.request, request)) return { refused: KEY_REUSED };
    // It has its place already, or needs none any more.
    if (known) return { task: known };
    if (this.book.busy(nowMs) >= concurrentTasks) return { refused: tooManyTasks(concurrentTasks) };
    return { task: this.book.create(request, nowMs, { idempotencyKey, failure }) };
  }

  private link({ taskId }: EmulatedTask, origin: string): string {
    return `${origin}/files/${taskId}.mp4?signature=${this.signature}`;
  }
}

const KEY_REUSED = refusal(
  422,
  'idempotency_key_reused',
  'the idempotency key was used for another request: a new request needs a new key',
);

/** Without Retry-After: when a place is free is not known to a service either. */
function tooManyTasks(most: number): EmulatedAnswer {
  const message = `too many tasks at once: ${most} are being worked on, and more are not allowed`;
  return refusal(429, 'concurrency_limit', message);
}

/** Parsed requests have their fields in the order of the schema. */
function isSameRequest(one: VideoRequest, other: VideoRequest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
