import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRequest, type VideoRequest } from '../contract/request';
import { type EmulatedAnswer, lostAnswer, type WrittenAnswer, written } from './answers';
import type { DialectName } from './dialects';
import { type Faults, isRefusal, type LateAnswer, type LateReset } from './faults';
import { fileAnswer } from './file-answer';
import { noiseVideo } from './noise-video';
import { pictureVideo } from './picture-video';
import { type EmulatedTask, TaskBook, type TaskFailure, type TaskView } from './task-book';
import { type EmulatedVideo, VideoShelf } from './video-shelf';
import { type Telling, Wording } from './wording';

/** How the emulated service generates videos. */
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
  /** After whose answers its own are worded. */
  dialect: DialectName;
}

export interface Submission {
  body?: unknown;
  /** Where the caller found the service. */
  origin: string;
  needsImage: boolean;
  idempotencyKey?: string;
}

/** What the service does once it knows who asks: section 4 of its interface, and the files behind its links. */
export class Operations {
  readonly book: TaskBook;
  readonly wording: Wording;
  /** Links carry a secret, as signed links do, so that tests can look for it where it must not be. */
  readonly signature = randomBytes(16).toString('hex');
  private readonly shelf: VideoShelf;
  private readonly closing = new AbortController();
  /** By the names under which callers know them. */
  private readonly tasks = new Map<string, EmulatedTask>();
  private readonly files = new Map<string, EmulatedTask>();

  constructor(private readonly options: OperationsOptions) {
    this.book = new TaskBook(options.jobTimeMs, options.tasksFile);
    this.wording = new Wording(options.dialect);
    for (const task of this.book.tasks.values()) this.name(task);
    const { videoBytes } = options;
    this.shelf = new VideoShelf(async (request) =>
      videoBytes === undefined ? pictureVideo(request, this.closing.signal) : noiseVideo(request, videoBytes),
    );
  }

  async submit(
    { body, origin, needsImage, idempotencyKey }: Submission,
    fault?: Faults['submit'],
  ): Promise<EmulatedAnswer> {
    const parsed = parseRequest(body);
    if (!parsed.ok) return this.wording.refused(400, 'invalid_request', parsed.problem);
    if (needsImage && parsed.request.image_url === undefined) {
      return this.wording.refused(400, 'invalid_request', 'image_url is missing');
    }
    if (fault && isRefusal(fault)) return this.wording.refusedAsTold(fault);
    const failure = fault?.kind === 'failed-task' ? { code: fault.code, message: fault.message } : undefined;
    const admitted = this.admit(parsed.request, await this.options.clock(), { idempotencyKey, failure });
    if ('refused' in admitted) return admitted.refused;
    const { task } = admitted;
    const accepted = this.wording.accepted({ task, view: { status: 'queued', progress: 0 }, origin });
    if (!fault) return accepted;
    switch (fault.kind) {
      case 'failed-task':
        return accepted;
      case 'late':
        return late(fault, () => accepted);
      case 'reset-late':
        return late(fault, () => ({ kind: 'reset' }));
      default:
        return lostAnswer(fault, () => accepted);
    }
  }

  async status(id: string, origin: string, fault?: Faults['status']): Promise<EmulatedAnswer> {
    const task = this.task(id);
    if (!task) return this.wording.notFound(id);
    if (fault && isRefusal(fault)) return this.wording.refusedAsTold(fault);
    const nowMs = await this.options.clock();
    const videoPath = this.linkPath(task);
    const tell = (view: Telling['view'], more = {}) => this.wording.looked({ task, view, origin, ...more });
    const seen = () => tell(this.book.view(task, nowMs), { videoPath });
    if (!fault) return seen();
    switch (fault.kind) {
      case 'failed-task':
        this.book.fail(task, fault, nowMs);
        return seen();
      case 'unknown-state':
        return tell({ status: 'unknown', word: fault.word });
      case 'no-video':
        return tell({ status: 'succeeded' });
      case 'late':
        return late(fault, seen);
      default:
        return lostAnswer(fault, seen);
    }
  }

  /** The interface has no such call; a service that has one answers like this. */
  async cancel(id: string, origin: string, fault?: Faults['cancel']): Promise<EmulatedAnswer> {
    const task = this.task(id);
    if (!task) return this.wording.notFound(id);
    if (fault && isRefusal(fault)) return this.wording.refusedAsTold(fault);
    const nowMs = await this.options.clock();
    const cancelled = this.book.cancel(task, nowMs);
    const view = this.book.view(task, nowMs);
    const answer = cancelled
      ? // A dialect may tell of a task that has failed as of a call that has.
        { ...this.wording.looked({ task, view, origin }), status: 200 }
      : this.wording.refused(409, 'task_over', `the task is over: it is ${view.status}`);
    return fault ? lostAnswer(fault, () => answer) : answer;
  }

  /** The file behind a link, which needs no key. The headers ask for a part of it, or for all of it. */
  async download(
    taskId: string,
    signature: string | null,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    const task = this.book.tasks.get(taskId);
    if (!task || signature !== this.signature) {
      return this.wording.refusedByStorage(403, 'forbidden', 'the link is not valid');
    }
    return this.file(task, headers, fault);
  }

  /** The file of a task, where the dialect has a call for it. */
  async content(
    id: string,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    const task = this.task(id);
    if (!task) return this.wording.notFound(id);
    if ((await this.view(task)).status !== 'succeeded') {
      return this.wording.refused(404, 'not_ready', 'the video is not ready: look at the task');
    }
    return this.file(task, headers, fault);
  }

  /** The link to a file by its id, where the dialect keeps files apart. */
  async retrieve(fileId: string, origin: string, fault?: Faults['retrieve']): Promise<EmulatedAnswer> {
    const task = this.files.get(fileId);
    if (!task || (await this.view(task)).status !== 'succeeded') {
      return this.wording.refused(404, 'not_found', 'no such file');
    }
    if (fault && isRefusal(fault)) return this.wording.refusedAsTold(fault);
    const found = async () => {
      const { bytes } = await this.video(task);
      return this.wording.retrieved(task, { url: origin + this.linkPath(task), bytes: bytes.length });
    };
    return fault ? lostAnswer(fault, found) : found();
  }

  /** By the name under which callers know it. */
  task(id: string): EmulatedTask | undefined {
    return this.tasks.get(id);
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
  ): { task: EmulatedTask } | { refused: WrittenAnswer } {
    const { concurrentTasks = Infinity, idempotencyKeys } = this.options;
    const known =
      idempotencyKeys === 'honoured' && idempotencyKey !== undefined && this.book.withKey(idempotencyKey);
    if (known && !isSameRequest(known.request, request)) return { refused: this.keyReused() };
    // It has its place already, or needs none any more.
    if (known) return { task: known };
    if (this.book.busy(nowMs) >= concurrentTasks) return { refused: this.tooManyTasks(concurrentTasks) };
    const task = this.book.create(request, nowMs, { idempotencyKey, failure });
    this.name(task);
    return { task };
  }

  private async file(
    task: EmulatedTask,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    if (fault && isRefusal(fault)) return this.wording.refusedAsTold(fault);
    const file = async () => fileAnswer(await this.video(task), headers);
    if (!fault) return file();
    switch (fault.kind) {
      case 'cut':
      case 'stall':
        return { ...(await file()), end: { after: fault.afterBytes, how: fault.kind } };
      case 'web-page':
        return written(200, 'text/html', '<p>This link has expired.</p>');
      case 'late':
        return late(fault, file);
      default:
        return lostAnswer(fault, file);
    }
  }

  private name(task: EmulatedTask): void {
    this.tasks.set(this.wording.idOf(task), task);
    const fileId = this.wording.fileIdOf(task);
    if (fileId !== undefined) this.files.set(fileId, task);
  }

  private async view(task: EmulatedTask): Promise<TaskView> {
    return this.book.view(task, await this.options.clock());
  }

  private linkPath({ taskId }: EmulatedTask): string {
    return `/files/${taskId}.mp4?signature=${this.signature}`;
  }

  private keyReused(): WrittenAnswer {
    const message = 'the idempotency key was used for another request: a new request needs a new key';
    return this.wording.refused(422, 'idempotency_key_reused', message);
  }

  /** Without Retry-After: when a place is free is not known to a service either. */
  private tooManyTasks(most: number): WrittenAnswer {
    const message = `too many tasks at once: ${most} are being worked on, and more are not allowed`;
    return this.wording.refused(429, 'concurrency_limit', message);
  }
}

async function late<Answer>({ ms }: LateAnswer | LateReset, answer: () => Answer): Promise<Awaited<Answer>> {
  await sleep(ms, undefined, { ref: false });
  return await answer();
}

/** Parsed requests have their fields in the order of the schema. */
function isSameRequest(one: VideoRequest, other: VideoRequest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
