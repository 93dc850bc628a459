import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRequest, type VideoRequest } from '../../contract/request';
import { type EmulatedAnswer, fileAnswer, type HttpAnswer, lostAnswer, textAnswer } from './answers';
import { type DescribedTask, DialectWriter } from './dialect-writer';
import type { DialectName } from './dialects';
import type { AskedFor, OwnRoute } from './dialects/own-interface';
import { type Faults, isRefusal, type LateAnswer, type LateReset } from './faults';
import { fetchImage } from './fetch-image';
import { type EmulatedTask, type FetchedImage, TaskStore, type TaskView } from './task-store';
import { noiseVideo, pictureVideo } from './video/make-video';
import { type EmulatedVideo, VideoCache } from './video/video-cache';

/** How the emulated service generates videos. */
export interface OperationsOptions {
  /** How long a task takes from its submit to its video. */
  jobTimeMs: number;
  /** Serves files of this many bytes of noise instead of painted videos: faster to make, and of a known size. */
  videoBytes?: number;
  /** The time by which tasks run. */
  clock: () => number | Promise<number>;
  /** A file for the tasks, so that they survive a restart of the emulator. */
  tasksFile?: string;
  /** How many tasks run at once; further submits are refused. No limit unless set. */
  concurrentTasks?: number;
  /** `honoured`: a second submit with the same key gets the first task. `ignored` unless set, as in most services. */
  idempotencyKeys: 'ignored' | 'honoured';
  /** Fetches the image of each submit, as real services do, and refuses the submit if it cannot. Off unless set. */
  fetchImages?: boolean;
  /** The service whose answers the emulator imitates. */
  dialect: DialectName;
  /** What each video costs in dollars, as the answers about ended tasks then say. They say nothing unless set. */
  charge?: number;
}

export interface Submission {
  body?: unknown;
  /** The URL at which the caller reached the service. */
  origin: string;
  needsImage: boolean;
  idempotencyKey?: string;
}

/** A task as a poll names it. */
export interface PolledTask extends Pick<OwnRoute, 'of' | 'withoutVideo'> {
  id: string;
}

/** The calls of the service after authorization: section 4 of its interface, and the files behind its links. */
export class Operations {
  readonly store: TaskStore;
  readonly writer: DialectWriter;
  /** Signs the links, so that tests can search for it where no link may appear. */
  readonly signature = randomBytes(16).toString('hex');
  private readonly videos: VideoCache;
  private readonly closing = new AbortController();
  /** By their ids in the dialect. */
  private readonly tasksById = new Map<string, EmulatedTask>();
  private readonly tasksByFileId = new Map<string, EmulatedTask>();

  constructor(private readonly options: OperationsOptions) {
    this.store = new TaskStore(options.jobTimeMs, options.tasksFile);
    this.writer = new DialectWriter(options.dialect, options.charge);
    for (const task of this.store.tasks.values()) this.addIds(task);
    const { videoBytes } = options;
    this.videos = new VideoCache(async (request) =>
      videoBytes === undefined ? pictureVideo(request, this.closing.signal) : noiseVideo(request, videoBytes),
    );
  }

  async submit(
    { body, origin, needsImage, idempotencyKey }: Submission,
    fault?: Faults['submit'],
  ): Promise<EmulatedAnswer> {
    const parsed = parseRequest(body);
    if (!parsed.ok) return this.writer.refused(400, 'invalid_request', parsed.problem);
    if (needsImage && parsed.request.image_url === undefined) {
      return this.writer.refused(400, 'invalid_request', 'image_url is missing');
    }
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const { image_url: imageUrl } = parsed.request;
    const fetched: { image?: FetchedImage } | { problem: string } =
      this.options.fetchImages && imageUrl !== undefined ? await fetchImage(imageUrl) : {};
    if ('problem' in fetched) return this.writer.refused(400, 'invalid_request', fetched.problem);
    const refusal = fault?.kind === 'refused-content' ? this.writer.refusedContent(fault.stage) : undefined;
    if (refusal && 'answer' in refusal) return refusal.answer;
    const failure =
      fault?.kind === 'failed-task' ? { code: fault.code, message: fault.message } : refusal?.failure;
    const admitted = this.admit(parsed.request, await this.options.clock(), {
      idempotencyKey,
      failure,
      ...fetched,
    });
    if ('refused' in admitted) return admitted.refused;
    const { task } = admitted;
    const accepted = this.writer.accepted({ task, view: { status: 'queued', progress: 0 }, origin });
    if (!fault) return accepted;
    switch (fault.kind) {
      case 'failed-task':
      case 'refused-content':
        return accepted;
      case 'late':
        return sleepThen(fault, () => accepted);
      case 'reset-late':
        return sleepThen(fault, () => ({ kind: 'reset' }));
      default:
        return lostAnswer(fault, () => accepted);
    }
  }

  async status(
    { id, of, withoutVideo }: PolledTask,
    origin: string,
    fault?: Faults['status'],
  ): Promise<EmulatedAnswer> {
    const task = this.taskById(id);
    if (!task || (of !== undefined && of !== operationOf(task))) return this.writer.notFound(id);
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const nowMs = await this.options.clock();
    const videoPath = withoutVideo ? undefined : this.linkPath(task);
    const describe = (view: DescribedTask['view'], more = {}) =>
      this.writer.status({ task, view, origin, ...more });
    const view = () =>
      withoutVideo ? endedWell(this.store.view(task, nowMs)) : this.store.view(task, nowMs);
    const correctAnswer = () => describe(view(), { videoPath });
    if (!fault) return correctAnswer();
    switch (fault.kind) {
      case 'failed-task':
        this.store.fail(task, fault, nowMs);
        return correctAnswer();
      case 'unknown-state':
        return describe({ status: 'unknown', word: fault.word });
      case 'no-video':
        return describe({ status: 'succeeded' });
      case 'late':
        return sleepThen(fault, correctAnswer);
      default:
        return lostAnswer(fault, correctAnswer);
    }
  }

  /** Not part of the interface: services that can cancel answer like this. */
  async cancel(id: string, origin: string, fault?: Faults['cancel']): Promise<EmulatedAnswer> {
    const task = this.taskById(id);
    if (!task) return this.writer.notFound(id);
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const nowMs = await this.options.clock();
    const cancelled = this.store.cancel(task, nowMs);
    const view = this.store.view(task, nowMs);
    const answer = cancelled
      ? // Some dialects answer the poll of a failed task with an HTTP error, but this call succeeded.
        { ...this.writer.status({ task, view, origin }), status: 200 }
      : this.writer.refused(409, 'task_over', `the task is over: it is ${view.status}`);
    return fault ? lostAnswer(fault, () => answer) : answer;
  }

  /** The file behind a link, which needs no API key. */
  async download(
    taskId: string,
    signature: string | null,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    const task = this.store.tasks.get(taskId);
    if (!task || signature !== this.signature) {
      return this.writer.refusedByFileServer(403, 'forbidden', 'the link is not valid');
    }
    return this.file(task, headers, fault);
  }

  /** The file of a task, in dialects with a call for it. */
  async content(
    id: string,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    const task = this.taskById(id);
    if (!task) return this.writer.notFound(id);
    if ((await this.view(task)).status !== 'succeeded') {
      return this.writer.refused(404, 'not_ready', 'the video is not ready: poll the task');
    }
    return this.file(task, headers, fault);
  }

  /** The link to a file by its id, in dialects with files. */
  async retrieve(fileId: string, origin: string, fault?: Faults['retrieve']): Promise<EmulatedAnswer> {
    const task = this.tasksByFileId.get(fileId);
    if (!task || (await this.view(task)).status !== 'succeeded') {
      return this.writer.refused(404, 'not_found', 'no such file');
    }
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const correctAnswer = async () => {
      const { bytes } = await this.video(task);
      return this.writer.retrieved(task, { url: origin + this.linkPath(task), bytes: bytes.length });
    };
    return fault ? lostAnswer(fault, correctAnswer) : correctAnswer();
  }

  /** The answer that has the link, in dialects whose polls have none. */
  async result(id: string, origin: string, fault?: Faults['retrieve']): Promise<EmulatedAnswer> {
    const task = this.taskById(id);
    if (!task) return this.writer.notFound(id);
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const described = { task, view: await this.view(task), origin, videoPath: this.linkPath(task) };
    const correctAnswer = () => this.writer.status(described);
    return fault ? lostAnswer(fault, correctAnswer) : correctAnswer();
  }

  /** Finds a task by its id in the dialect. */
  taskById(id: string): EmulatedTask | undefined {
    return this.tasksById.get(id);
  }

  video({ request }: EmulatedTask): Promise<EmulatedVideo> {
    return this.videos.get(request);
  }

  /** Stops the making of videos. */
  close(): void {
    this.closing.abort();
  }

  /**
   * Finds or makes the task of a submit. It must stay synchronous: two submits at once must neither both pass the limit
   * nor make two tasks for one key.
   */
  private admit(
    request: VideoRequest,
    nowMs: number,
    { idempotencyKey, ...more }: Pick<EmulatedTask, 'idempotencyKey' | 'failure' | 'image'>,
  ): { task: EmulatedTask } | { refused: HttpAnswer } {
    const { concurrentTasks = Infinity, idempotencyKeys } = this.options;
    const known =
      idempotencyKeys === 'honoured' && idempotencyKey !== undefined && this.store.withKey(idempotencyKey);
    if (known && !isSameRequest(known.request, request)) return { refused: this.keyReused() };
    // A known task never counts against the limit a second time.
    if (known) return { task: known };
    if (this.store.countActive(nowMs) >= concurrentTasks)
      return { refused: this.tooManyTasks(concurrentTasks) };
    const task = this.store.create(request, nowMs, { idempotencyKey, ...more });
    this.addIds(task);
    return { task };
  }

  private async file(
    task: EmulatedTask,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    if (fault && isRefusal(fault)) return this.writer.scriptedRefusal(fault);
    const correctAnswer = async () => fileAnswer(await this.video(task), headers);
    if (!fault) return correctAnswer();
    switch (fault.kind) {
      case 'cut':
      case 'stall':
        return { ...(await correctAnswer()), end: { after: fault.afterBytes, how: fault.kind } };
      case 'web-page':
        return textAnswer(200, 'text/html', '<p>This link has expired.</p>');
      case 'late':
        return sleepThen(fault, correctAnswer);
      default:
        return lostAnswer(fault, correctAnswer);
    }
  }

  private addIds(task: EmulatedTask): void {
    this.tasksById.set(this.writer.idOf(task), task);
    const fileId = this.writer.fileIdOf(task);
    if (fileId !== undefined) this.tasksByFileId.set(fileId, task);
  }

  private async view(task: EmulatedTask): Promise<TaskView> {
    return this.store.view(task, await this.options.clock());
  }

  private linkPath({ taskId }: EmulatedTask): string {
    return `/files/${taskId}.mp4?signature=${this.signature}`;
  }

  private keyReused(): HttpAnswer {
    const message = 'the idempotency key was used for another request: a new request needs a new key';
    return this.writer.refused(422, 'idempotency_key_reused', message);
  }

  /** Without Retry-After, since services do not know when a task ends. */
  private tooManyTasks(limit: number): HttpAnswer {
    return this.writer.refused(429, 'concurrency_limit', `too many tasks at once: the limit is ${limit}`);
  }
}

/** A poll that tells nothing of the video says that the task is over, and the result says how. */
function endedWell(view: TaskView): TaskView {
  return view.status === 'failed' ? { status: 'succeeded' } : view;
}

function operationOf({ request }: EmulatedTask): AskedFor {
  return request.image_url === undefined ? 'text' : 'image';
}

async function sleepThen<Answer>(
  { ms }: LateAnswer | LateReset,
  answer: () => Answer,
): Promise<Awaited<Answer>> {
  await sleep(ms, undefined, { ref: false });
  return await answer();
}

/** Parsing puts the fields of a request in the order of the schema. */
function isSameRequest(one: VideoRequest, other: VideoRequest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
