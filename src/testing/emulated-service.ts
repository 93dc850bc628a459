import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { VideoRequest } from '../contract/request';
import { type EmulatedAnswer, type EmulatedHttpAnswer, fileAnswer, jsonAnswer, spoil } from './answers';
import { type Dialect, type DialectRoute, type RefusalFacts, type Reply, refuseContent } from './dialect';
import type { EmulatorOptions } from './emulator-options';
import { type EmulatedRefusal, type Faults, isRefusal } from './faults';
import { type EmulatedTask, type NewTask, type TaskFailure, TaskStore, type TaskView } from './task-store';
import { noiseVideo, pictureVideo } from './video/make-video';
import { type EmulatedVideo, VideoCache } from './video/video-cache';

type ServiceOptions = EmulatorOptions & Required<Pick<EmulatorOptions, 'jobTimeMs' | 'clock'>>;

/** How a call reached the service. */
export interface EmulatedCaller {
  dialect: Dialect;
  /** The URL at which it reached the service. */
  origin: string;
}

/** The calls of the service after authorization: section 4 of its interface, and the files behind its links. */
export class EmulatedService {
  readonly store: TaskStore;
  /** Signs the links, so that tests can search for it where no link may appear. */
  readonly signature = randomBytes(16).toString('hex');
  private readonly videos: VideoCache;
  private readonly closing = new AbortController();

  constructor(private readonly options: ServiceOptions) {
    this.store = new TaskStore(options.jobTimeMs, options.tasksFile);
    const { videoBytes } = options;
    this.videos = new VideoCache((request) =>
      videoBytes === undefined ? pictureVideo(request, this.closing.signal) : noiseVideo(request, videoBytes),
    );
  }

  async submit(
    { dialect, origin }: EmulatedCaller,
    { request, idempotencyKey }: { request: VideoRequest; idempotencyKey: string | undefined },
    fault?: Faults['submit'],
  ): Promise<EmulatedAnswer> {
    if (isRefusal(fault)) return scriptedRefusal(dialect, fault);
    const image = await this.fetchImage(request);
    if (typeof image === 'string') return refuse(dialect, invalid(image));
    const { failure, at } = failureBy(fault, dialect);
    if (failure && at === 'submit') return refuse(dialect, { ...failure, status: 400 });
    const task = this.admit(request, await this.options.clock(), { idempotencyKey, failure, image });
    if ('status' in task) return refuse(dialect, task);
    const view: TaskView = { state: 'queued', percent: 0 };
    return spoil(fault, () => answerOf(200, dialect.accepted(this.factsOf(task, view, { dialect, origin }))));
  }

  /** Answers about a task: to a poll, or with the link to its video. */
  async status(
    caller: EmulatedCaller,
    task: EmulatedTask,
    words: DialectRoute['answer'] = caller.dialect.status,
    fault?: Faults['status'] | Faults['retrieve'],
  ): Promise<EmulatedAnswer> {
    if (isRefusal(fault)) return scriptedRefusal(caller.dialect, fault);
    const nowMs = await this.options.clock();
    if (fault?.kind === 'failed-task') this.store.fail(task, fault, nowMs);
    const facts = this.factsOf(task, this.store.view(task, nowMs), caller);
    if (fault?.kind === 'unknown-state') {
      const { id, request, submittedAtMs, origin } = facts;
      return answerOf(200, words({ id, request, submittedAtMs, origin, state: 'unknown', word: fault.word }));
    }
    if (fault?.kind === 'no-video') {
      const succeeded = this.factsOf(task, { state: 'succeeded' }, caller);
      return answerOf(200, words({ ...succeeded, videoUrl: undefined }));
    }
    return spoil(fault, () => answerOf(200, words(facts)));
  }

  async cancel(
    caller: EmulatedCaller,
    task: EmulatedTask,
    fault?: Faults['cancel'],
  ): Promise<EmulatedAnswer> {
    const { dialect } = caller;
    if (isRefusal(fault)) return scriptedRefusal(dialect, fault);
    const nowMs = await this.options.clock();
    const isCancelled = this.store.cancel(task, nowMs);
    const view = this.store.view(task, nowMs);
    const message = `the task is over: it is ${view.state}`;
    const answer = isCancelled
      ? // Some dialects answer the poll of a failed task with an HTTP error, but this call succeeded.
        { ...answerOf(200, dialect.status(this.factsOf(task, view, caller))), status: 200 }
      : refuse(dialect, { status: 409, code: 'task_over', message });
    return spoil(fault, () => answer);
  }

  async download(
    { dialect }: EmulatedCaller,
    task: EmulatedTask,
    headers: IncomingHttpHeaders,
    fault?: Faults['download'],
  ): Promise<EmulatedAnswer> {
    if (isRefusal(fault)) return scriptedRefusal(dialect, fault);
    if (this.store.view(task, await this.options.clock()).state !== 'succeeded') {
      const message = 'the video is not ready: poll the task';
      return refuse(dialect, { status: 404, code: 'not_ready', message });
    }
    return spoil(fault, async () => fileAnswer(await this.video(task), headers));
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
  private admit(request: VideoRequest, nowMs: number, more: NewTask): EmulatedTask | RefusalFacts {
    const { concurrentTasks = Infinity, idempotencyKeys } = this.options;
    const { idempotencyKey: key } = more;
    const known = idempotencyKeys === 'honoured' && key !== undefined ? this.store.withKey(key) : undefined;
    // Parsing puts the fields of a request in the order of the schema.
    if (known && JSON.stringify(known.request) !== JSON.stringify(request)) {
      const message = 'the idempotency key was used for another request: a new request needs a new key';
      return { status: 422, code: 'idempotency_key_reused', message };
    }
    // A known task never counts against the limit a second time.
    if (known) return known;
    if (this.store.countActive(nowMs) < concurrentTasks) return this.store.create(request, nowMs, more);
    const message = `too many tasks at once: the limit is ${concurrentTasks}`;
    // Without Retry-After, since services do not know when a task ends.
    return { status: 429, code: 'concurrency_limit', message };
  }

  /** Fetches the image without a key, as a service does that is given only its address. Returns what is wrong as text. */
  private async fetchImage({ image_url: url }: VideoRequest): Promise<EmulatedTask['image'] | string> {
    if (!this.options.fetchImages || url === undefined) return undefined;
    // Services quote what they could not fetch.
    const problem = (why: unknown) => `image_url cannot be fetched: ${url}: ${why}`;
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_WITHIN_MS) });
      const contentType = answer.headers.get('content-type') ?? '';
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (!answer.ok) return problem(`HTTP ${answer.status}`);
      if (!contentType.startsWith('image/')) return problem(`it is ${contentType || 'of no type'}`);
      if (bytes.length > LARGEST_IMAGE_BYTES) return problem('it is too large');
      return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), contentType };
    } catch (error) {
      return problem(error);
    }
  }

  private factsOf(task: EmulatedTask, view: TaskView, { dialect, origin }: EmulatedCaller) {
    const { taskId, request, submittedAtMs } = task;
    const { charge } = this.options;
    const hasEnded = view.percent === undefined;
    const link = `${origin}/files/${taskId}.mp4?signature=${this.signature}`;
    return {
      ...view,
      id: idIn(dialect, task),
      request,
      submittedAtMs,
      origin,
      videoUrl: view.state === 'succeeded' ? link : undefined,
      // Like most services, it charges nothing for a task that failed.
      cost: hasEnded && charge !== undefined ? (view.state === 'succeeded' ? charge : 0) : undefined,
    };
  }
}

/** What services take; the gateway's own limit is the same. */
const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;
const FETCH_WITHIN_MS = 10_000;

export const idIn = ({ idOf }: Pick<Dialect, 'idOf'>, { taskId }: EmulatedTask): string =>
  idOf?.(taskId) ?? taskId;

export const invalid = (message: string): RefusalFacts => ({ status: 400, code: 'invalid_request', message });

/** The dialect may replace the status by its own. */
export function refuse(dialect: Dialect, refusal: RefusalFacts): EmulatedHttpAnswer {
  return answerOf(refusal.status, dialect.refused(refusal));
}

/** A refusal from a script keeps its status in every dialect. */
function refusePlainly(
  dialect: Dialect,
  refusal: RefusalFacts,
  headers?: OutgoingHttpHeaders,
): EmulatedHttpAnswer {
  const { status } = refusal;
  return { ...answerOf(status, dialect.refused(refusal), headers), status };
}

function scriptedRefusal(dialect: Dialect, fault: EmulatedRefusal): EmulatedHttpAnswer {
  switch (fault.kind) {
    case 'rate-limited': {
      const { retryAfter: after } = fault;
      const text = after instanceof Date ? after.toUTCString() : String(after);
      const refusal = { status: 429, code: 'rate_limited', message: 'too many requests' };
      return refusePlainly(dialect, refusal, after === undefined ? {} : { 'retry-after': text });
    }
    case 'server-error': {
      const { status = 500 } = fault;
      return refusePlainly(dialect, { status, code: 'internal', message: 'internal server error' });
    }
    case 'refused': {
      const { status, code = 'refused', message } = fault;
      return refusePlainly(dialect, { status, code, message });
    }
  }
}

/** Why a submit is refused, or its task will fail. */
function failureBy(
  fault: Faults['submit'] | undefined,
  { refusedContent = refuseContent }: Dialect,
): { at?: 'submit' | 'task'; failure?: TaskFailure } {
  if (fault?.kind === 'failed-task') return { failure: { code: fault.code, message: fault.message } };
  if (fault?.kind !== 'refused-content') return {};
  const { at, ...words } = refusedContent(fault.stage);
  return { at, failure: { ...words, refuses: fault.stage } };
}

function answerOf(status: number, reply: Reply, headers?: OutgoingHttpHeaders): EmulatedHttpAnswer {
  return jsonAnswer(reply.status ?? status, reply.body ?? '', { ...reply.headers, ...headers });
}
