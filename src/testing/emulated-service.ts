import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { VideoRequest } from '../contract/request';
import { answerWith, type EmulatedAnswer, type EmulatedHttpAnswer, fileAnswer, spoil } from './answers';
import {
  type Dialect,
  type DialectRoute,
  type RefusalFacts,
  type Reply,
  refuseContent,
  type TaskFacts,
} from './dialect';
import type { EmulatorOptions } from './emulator-options';
import { type EmulatedRefusal, type Fault, type Faults, isRefusal } from './faults';
import { type EmulatedTask, type NewTask, TaskStore } from './task-store';
import { noiseVideo, pictureVideo } from './video/make-video';

type ServiceOptions = EmulatorOptions & Required<Pick<EmulatorOptions, 'jobTimeMs' | 'clock' | 'dialect'>>;

interface EmulatedVideo {
  bytes: Buffer;
  /** A strong one: a hash of the bytes. */
  etag: string;
}

/** A test may make hundreds of tasks, and a video has megabytes. */
const MOST_CACHED_VIDEOS = 16;

/** The calls of the service after authorization: section 4 of its interface, and the files behind its links. */
export class EmulatedService {
  readonly store: TaskStore;
  /** Signs the links, so that tests can search for it where no link may appear. */
  readonly signature = randomBytes(16).toString('hex');
  /** By request; the oldest comes first. Making one takes up to a second. */
  private readonly videos = new Map<string, Promise<EmulatedVideo>>();
  private readonly closing = new AbortController();

  constructor(private readonly options: ServiceOptions) {
    this.store = new TaskStore(options.jobTimeMs, options.tasksFile);
  }

  /** A submit of a caller that reached the service at `origin`. */
  async submit(
    origin: string,
    { request, idempotencyKey }: { request: VideoRequest; idempotencyKey: string | undefined },
    fault?: Faults['submit'],
  ): Promise<EmulatedAnswer> {
    const { dialect } = this.options;
    if (isRefusal(fault)) return scriptedRefusal(dialect, fault);
    const image = await this.fetchImage(request);
    if (typeof image === 'string') return refuse(dialect, invalid(image));
    const { failure, at } = failureBy(fault, dialect);
    if (failure && at === 'submit') return refuse(dialect, { ...failure, status: 400 });
    const task = this.admit(request, await this.options.clock(), { idempotencyKey, failure, image });
    if ('status' in task) return refuse(dialect, task);
    const facts = this.factsOf(task, { state: 'queued', percent: 0 }, origin);
    return spoil(fault, () => answerOf(200, dialect.accepted(facts)));
  }

  /** A call about a task: a poll, one for the link to its video, a cancel or a download. */
  async callAbout(
    origin: string,
    task: EmulatedTask,
    { call, answer = this.options.dialect.status }: DialectRoute,
    headers: IncomingHttpHeaders,
    fault?: Fault,
  ): Promise<EmulatedAnswer> {
    const { dialect } = this.options;
    if (isRefusal(fault)) return scriptedRefusal(dialect, fault);
    const nowMs = await this.options.clock();
    const wasOver = nowMs >= this.store.endOf(task);
    if (fault?.kind === 'failed-task') {
      const { code, message } = fault;
      this.store.end(task, { failure: { code, message, atMs: nowMs } });
    }
    if (call === 'cancel' && !wasOver) this.store.end(task, { cancelledAtMs: nowMs });
    const view = this.store.view(task, nowMs);
    if (call === 'download') {
      const message = 'the video is not ready: poll the task';
      if (view.state !== 'succeeded') return refuse(dialect, { status: 404, code: 'not_ready', message });
      return spoil(fault, async () => fileAnswer(await this.video(task), headers));
    }
    if (call === 'cancel' && wasOver) {
      const message = `the task is over: it is ${view.state}`;
      return spoil(fault, () => refuse(dialect, { status: 409, code: 'task_over', message }));
    }
    const facts =
      fault?.kind === 'unknown-state'
        ? this.factsOf(task, { state: 'unknown', word: fault.word }, origin)
        : fault?.kind === 'no-video'
          ? { ...this.factsOf(task, { state: 'succeeded' }, origin), videoUrl: undefined }
          : this.factsOf(task, view, origin);
    const told = answerOf(200, answer(facts));
    // Some dialects answer the poll of a failed task with an HTTP error, but a cancel succeeded.
    return spoil(fault, () => (call === 'cancel' ? { ...told, status: 200 } : told));
  }

  video({ request }: EmulatedTask): Promise<EmulatedVideo> {
    // Parsing puts the fields of a request in the order of the schema.
    const key = JSON.stringify(request);
    const known = this.videos.get(key);
    if (known) return known;
    const made = this.makeVideo(request);
    this.videos.set(key, made);
    const [oldest = ''] = this.videos.keys();
    if (this.videos.size > MOST_CACHED_VIDEOS) this.videos.delete(oldest);
    return made;
  }

  /** Stops the making of videos. */
  close(): void {
    this.closing.abort();
  }

  private async makeVideo(request: VideoRequest): Promise<EmulatedVideo> {
    const { videoBytes } = this.options;
    const bytes = await (videoBytes === undefined
      ? pictureVideo(request, this.closing.signal)
      : noiseVideo(request, videoBytes));
    return { bytes, etag: `"${sha256(bytes)}"` };
  }

  /**
   * Finds or makes the task of a submit. It must stay synchronous: two submits at once must neither both pass the limit
   * nor make two tasks for one key.
   */
  private admit(request: VideoRequest, nowMs: number, more: NewTask): EmulatedTask | RefusalFacts {
    const { concurrentTasks = Infinity, idempotencyKeys } = this.options;
    const { idempotencyKey: key } = more;
    const known = idempotencyKeys === 'honoured' && key !== undefined ? this.store.withKey(key) : undefined;
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
      return { bytes: bytes.length, sha256: sha256(bytes), contentType };
    } catch (error) {
      return problem(error);
    }
  }

  private factsOf(
    task: EmulatedTask,
    shown: Pick<TaskFacts, 'state' | 'word' | 'percent' | 'error'>,
    origin: string,
  ): TaskFacts {
    const { taskId, request, submittedAtMs } = task;
    const { charge, dialect } = this.options;
    const hasSucceeded = shown.state === 'succeeded';
    const link = `${origin}/files/${taskId}.mp4?signature=${this.signature}`;
    // Like most services, it charges nothing for a task that failed.
    const costs = { succeeded: charge, failed: 0, cancelled: 0 };
    return {
      ...shown,
      id: idIn(dialect, task),
      request,
      submittedAtMs,
      origin,
      videoUrl: hasSucceeded ? link : undefined,
      cost: charge === undefined ? undefined : Reflect.get(costs, shown.state),
    };
  }
}

const FETCH_WITHIN_MS = 10_000;

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export const idIn = ({ idOf }: Pick<Dialect, 'idOf'>, { taskId }: EmulatedTask): string =>
  idOf?.(taskId) ?? taskId;

export const invalid = (message: string): RefusalFacts => ({ status: 400, code: 'invalid_request', message });

/** The dialect may replace the status by its own. */
export function refuse(dialect: Dialect, refusal: RefusalFacts): EmulatedHttpAnswer {
  return answerOf(refusal.status, dialect.refused(refusal));
}

/** A refusal from a script keeps its status in every dialect. */
function scriptedRefusal(dialect: Dialect, fault: EmulatedRefusal): EmulatedHttpAnswer {
  const refusal = {
    'rate-limited': { status: 429, code: 'rate_limited', message: 'too many requests' },
    'server-error': { status: 500, code: 'internal', message: 'internal server error' },
    refused: { status: 400, code: 'refused', message: '' },
  }[fault.kind];
  const scripted = { ...refusal, ...fault };
  const { retryAfter: after } = { retryAfter: undefined, ...fault };
  const headers: OutgoingHttpHeaders =
    after === undefined ? {} : { 'retry-after': after instanceof Date ? after.toUTCString() : String(after) };
  return { ...answerOf(scripted.status, dialect.refused(scripted), headers), status: scripted.status };
}

/** Why a submit is refused, or its task will fail. */
function failureBy(
  fault: Faults['submit'] | undefined,
  { refusedContent = refuseContent }: Dialect,
): Pick<NewTask, 'failure'> & { at?: 'submit' | 'task' } {
  if (fault?.kind === 'failed-task') return { failure: { code: fault.code, message: fault.message } };
  if (fault?.kind !== 'refused-content') return {};
  const { at, ...words } = refusedContent(fault.stage);
  return { at, failure: { ...words, refuses: fault.stage } };
}

function answerOf(status: number, reply: Reply, headers?: OutgoingHttpHeaders): EmulatedHttpAnswer {
  return answerWith(reply.status ?? status, reply.body ?? '', { ...reply.headers, ...headers });
}
