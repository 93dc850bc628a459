import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure, Context, type Info } from '@temporalio/activity';
import { LEARNED_TIMES_KEY } from '../../activities/learn/learned-times';
import { fromTemporalType } from '../../src/contract/failure-table';
import type { VideoRequest } from '../../src/contract/request';
import { type EmulatedTask, type Emulator, type Faults, startEmulator } from '../../src/emulator';
import { createVideoService, RateLimiter, type VideoBody, type VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { filesIn } from '../support/stored-files';
import { KILLED, type Note, type NumberedNote } from './notes';
import type { DownloadAnswer, PollAnswer, Script, SubmitAnswer } from './script';

/** Every job asks for the same video, so that the emulator makes one. */
export const REQUEST: VideoRequest = { prompt: 'A red fox', resolution: '480p', duration: 5, seed: 7 };
const ADDRESS = 'https://the-service.example.com/';
export const VIDEO_BYTES = 32 * 1024;
/** Far more than any script asks for: a job that makes more polls without end. */
export const MOST_ATTEMPTS = 120;
/** Beyond the head of a video, so that its file is open. */
const BYTES_BEFORE_KILL = 8 * 1024;
/** The workflow's part of its cancellation, by which it asks how its submit has ended. */
const INSPECTION = 'inspectPendingSubmit';
/** A workflow task that cancels has reached the server after this. */
const CANCEL_SETTLES_MS = 200;
/** A timer that is due so soon, or was a moment ago, may fire while a cancellation is under way. */
const TIMER_FIRES_WITHIN_MS = 1_000;
/** A cancellation that does not arrive: the job has ended or continued meanwhile. */
const LONGEST_CANCEL_MS = 3_000;
/** How long a download may take to create its part. */
const LONGEST_OPEN_MS = 2_000;
export const UNKNOWN_TASK = 'task_nobody_made';

/** One attempt of an activity: the answers that it got, and how it ended. */
export interface Attempt {
  runId: string;
  activityId: string;
  type: string;
  number: number;
  /** By the server's clock: when the activity was scheduled, and when this attempt began. */
  scheduledAtMs: number;
  attemptAtMs: number;
  answers: (SubmitAnswer | PollAnswer | DownloadAnswer)[];
  /** A failure type, or `ok`, `killed`, `cancelled`, or anything unforeseen. */
  end: string;
  retryAfterMs?: number;
  /** The task that it noted in a heartbeat which reached the server. */
  notedTaskId?: string;
}

/** What a running attempt must know beyond what is noted of it. */
interface RunningAttempt extends Attempt {
  kill(): Promise<never>;
  killAtEnd: boolean;
  isKilled: boolean;
}

/** All that happened to one job. */
export interface Performance {
  workflowId: string;
  script: Script;
  /** In order, each with the run that it belongs to. */
  notes: (Note & { runId: string })[];
  attempts: Attempt[];
  /** The tasks that were paid for, in order, and the one that existed before. */
  generations: { taskId: string; endsAtMs: number }[];
  posts: number;
  files: string[];
  /** Whether the stored file has the bytes of the video; undefined without a file. */
  storedRight?: boolean;
  ended: boolean;
}

/** The server's clock, and the folder of all stages. */
export interface StageTools {
  clock: StageClock;
  folder: string;
}

/**
 * The server's clock as one stage reads it. The server skips no time while an attempt runs, so it is asked once for each
 * attempt, and goes on as the machine's clock does.
 */
export class StageClock {
  private aheadMs: number;

  constructor(
    private readonly readServer: () => Promise<number>,
    nowMs: number,
  ) {
    this.aheadMs = nowMs - Date.now();
  }

  readonly now = (): number => Date.now() + this.aheadMs;

  async set(): Promise<number> {
    const nowMs = await this.readServer();
    this.aheadMs = nowMs - Date.now();
    return nowMs;
  }
}

/** What the workers need of a stage. */
export interface Scene {
  readonly workflowId: string;
  readonly service: VideoService;
  readonly storage: VideoStorage;
  readonly rateLimiter: RateLimiter;
  readonly hasEnded: boolean;
  takeNote(runId: string, numbered: NumberedNote): void;
  cancel(send: () => Promise<unknown>): Promise<void>;
  attempt(context: Context, work: () => Promise<unknown>): Promise<unknown>;
  taskId(generation: number | 'unknown', item?: number): string;
}

/** One job's own service, storage and rate limiter, with the script for them. */
export class Stage implements Scene {
  rateLimiter = new RateLimiter();
  private readonly attempts: RunningAttempt[] = [];
  private readonly runs = new Map<string, Note[]>();
  private readonly running = new Map<string, RunningAttempt>();
  private readonly waiting: { submits: SubmitAnswer[]; polls: PollAnswer[]; downloads: DownloadAnswer[] };
  /** Ends what killed attempts still hang in. */
  private readonly abandoned: (() => void)[] = [];
  /** Killed attempts: their code is still there, but does nothing more. */
  private readonly dead = new Set<string>();
  private posts = 0;
  /** One poll is sent after the other: one that was given up on a busy machine takes the answer that was meant for it. */
  private lastPoll: Promise<unknown> = Promise.resolve();
  private noEndBeforeMs = 0;
  private timerDueAtMs = 0;
  readonly service: VideoService;
  readonly storage: VideoStorage;

  private constructor(
    readonly workflowId: string,
    readonly script: Script,
    private readonly folder: string,
    private readonly emulator: Emulator,
    private readonly real: VideoService,
    private readonly clock: StageClock,
  ) {
    this.waiting = {
      submits: [...script.submits],
      polls: [...script.polls],
      downloads: [...script.downloads],
    };
    this.service = this.scriptedService();
    this.storage = this.scriptedStorage();
  }

  static async set(workflowId: string, script: Script, { clock, folder }: StageTools): Promise<Stage> {
    const { jobTimeMs, idempotencyKeys, cancelling, servicePolling, start } = script;
    const emulator = await startEmulator({
      clock: clock.now,
      jobTimeMs,
      idempotencyKeys,
      cancelling,
      videoBytes: VIDEO_BYTES,
    });
    const service = createVideoService({
      baseUrl: emulator.url,
      apiKey: () => emulator.apiKey,
      profile: {
        ...(servicePolling && { polling: servicePolling }),
        ...(cancelling && { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } }),
      },
    });
    const own = join(folder, workflowId);
    await mkdir(own);
    if (script.learnedMs !== undefined) await writeLearned(own, script.learnedMs);
    const stage = new Stage(workflowId, script, own, emulator, service, clock);
    if (start === 'adopt') {
      await service.submit(REQUEST, { idempotencyKey: 'before' });
      stage.endTasksAsScripted();
    }
    return stage;
  }

  /** The task that the job adopts at its start, or that a decision names. */
  taskId(generation: number | 'unknown'): string {
    const task = generation === 'unknown' ? undefined : this.emulator.generations()[generation];
    return task?.taskId ?? UNKNOWN_TASK;
  }

  /**
   * Cancels the job. The test server breaks a workflow that cancels an activity which has just ended, and then skips no
   * more time; so it does for a timer that has just fired. So no timer is about to fire, and no attempt ends until the
   * workflow has cancelled what it runs.
   */
  async cancel(send: () => Promise<unknown>): Promise<void> {
    while (Math.abs(this.timerDueAtMs - (await this.clock.set())) < TIMER_FIRES_WITHIN_MS)
      await sleep(CANCEL_SETTLES_MS);
    this.noEndBeforeMs = Date.now() + LONGEST_CANCEL_MS;
    // The job may have ended.
    await send().catch(() => undefined);
    await this.untilCancelled();
  }

  takeNote(runId: string, { number, note }: NumberedNote): void {
    if (note.kind === 'timer') this.timerDueAtMs = note.atMs + note.ms;
    if (note.kind === 'cancel') this.noEndBeforeMs = Date.now() + CANCEL_SETTLES_MS;
    const notes = this.runs.get(runId) ?? [];
    notes.length = number;
    this.runs.set(runId, [...notes, note]);
  }

  get hasEnded(): boolean {
    return [...this.runs.values()].some((notes) => notes.at(-1)?.kind === 'end');
  }

  /** Runs one attempt of an activity, which may be killed on the way. */
  async attempt(context: Context, work: () => Promise<unknown>): Promise<unknown> {
    const { info } = context;
    if (this.attempts.length >= MOST_ATTEMPTS) this.failTasks();
    const key = keyOf(context);
    const beats = withheldHeartbeats(context, this.nextKill(info.activityType)?.notes === 'lost');
    let dies: (error: Error) => void = () => undefined;
    const killed = new Promise<never>((_, reject) => {
      dies = reject;
    });
    killed.catch(() => undefined);
    const attempt: RunningAttempt = {
      runId: info.workflowExecution?.runId ?? '',
      activityId: info.activityId,
      type: info.activityType,
      number: info.attempt,
      scheduledAtMs: info.scheduledTimestampMs,
      attemptAtMs: await this.clock.set(),
      answers: [],
      end: 'running',
      killAtEnd: false,
      isKilled: false,
      kill: () => {
        attempt.isKilled = true;
        beats.stop();
        // The next attempt runs in another process, which knows of no limits.
        this.rateLimiter = new RateLimiter();
        dies(new Error(KILLED));
        this.dead.add(key);
        return this.hang();
      },
    };
    this.attempts.push(attempt);
    this.running.set(key, attempt);
    try {
      if (this.diesAtStart(attempt)) void attempt.kill();
      const working = attempt.isKilled ? killed : work();
      await Promise.race([killed, working]).catch((error: unknown) => {
        if (!attempt.killAtEnd) throw error;
      });
      if (attempt.killAtEnd) await Promise.race([attempt.kill(), killed]);
      attempt.end = 'ok';
      return await working;
    } catch (error) {
      attempt.end = attempt.isKilled ? 'killed' : describeEnd(error);
      if (error instanceof ApplicationFailure) {
        const { retryAfter } = Object(error.details?.[0]);
        if (typeof retryAfter === 'number') attempt.retryAfterMs = retryAfter * 1_000;
      }
      throw error;
    } finally {
      if (!attempt.isKilled) beats.release();
      await this.untilMayEnd(info);
      this.running.delete(key);
    }
  }

  private async untilMayEnd({ activityType, isLocal }: Info): Promise<void> {
    if (activityType === INSPECTION) {
      // The workflow cancels its submit after it.
      if (this.noEndBeforeMs > 0) this.noEndBeforeMs = Date.now() + CANCEL_SETTLES_MS;
      return;
    }
    // The server knows of no local activity, and its workflow learns of a cancellation only after it.
    if (!isLocal) await this.untilCancelled();
  }

  private async untilCancelled(): Promise<void> {
    while (Date.now() < this.noEndBeforeMs && !this.hasEnded) await sleep(CANCEL_SETTLES_MS / 10);
  }

  /** Collects what happened, and ends everything. */
  async clear(ended: boolean): Promise<Performance> {
    const notes = [...this.runs].flatMap(([runId, of]) => of.map((note) => ({ ...note, runId })));
    const files = await filesIn(this.folder);
    const storedRight = await this.compareVideo(notes.at(-1));
    const generations = this.emulator.generations().map((task) => ({
      taskId: task.taskId,
      endsAtMs: this.emulator.endOf(task),
    }));
    for (const end of this.abandoned) end();
    await this.real.close();
    await this.emulator.close();
    // What was abandoned tidies up first.
    await new Promise((resolve) => setImmediate(resolve));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    const { workflowId, script, posts } = this;
    const attempts = this.attempts.map(
      ({ kill: _kill, killAtEnd: _atEnd, isKilled: _isKilled, ...attempt }) => attempt,
    );
    return { workflowId, script, notes, attempts, generations, posts, files, storedRight, ended };
  }

  private async compareVideo(last: Note | undefined): Promise<boolean | undefined> {
    if (last?.kind !== 'end' || !('succeeded' in last.outcome)) return undefined;
    const { video, taskId } = last.outcome.succeeded;
    const stored = await this.storage.read(
      decodeURIComponent(new URL(video.uri).pathname).slice(this.folder.length + 1),
    );
    if (stored === undefined) return false;
    const chunks: Buffer[] = [];
    for await (const chunk of stored) chunks.push(chunk);
    return Buffer.concat(chunks).equals(await this.emulator.video(taskId));
  }

  private scriptedService(): VideoService {
    const { real } = this;
    return {
      address: ADDRESS,
      profile: real.profile,
      submit: (request, options) => this.submit(() => real.submit(request, options)),
      // Without its signal: a poll that ran out of time on a busy machine would leave its answer to the next one.
      poll: (taskId) => this.poll(taskId, () => real.poll(taskId)),
      openVideo: (link, options) => this.openVideo(() => real.openVideo(link, options)),
      cancel: (...given) => real.cancel(...given),
      close: async () => undefined,
    };
  }

  private async submit(send: () => ReturnType<VideoService['submit']>) {
    const attempt = this.current();
    const answer = this.take('submits', { kind: 'task' }, attempt);
    if (answer.kind === 'killed' && answer.at === 'before-send') return attempt.kill();
    const fault = submitFault(answer);
    if (fault) this.emulator.next('submit', fault);
    this.posts += 1;
    try {
      const sent = await send();
      if (answer.kind === 'killed' && answer.at === 'after-send') return attempt.kill();
      if (answer.kind !== 'killed' || answer.notes === 'kept') attempt.notedTaskId = sent.taskId;
      attempt.killAtEnd = answer.kind === 'killed' && answer.at === 'after-record';
      return sent;
    } finally {
      this.endTasksAsScripted();
    }
  }

  private async poll(taskId: string, send: () => ReturnType<VideoService['poll']>) {
    const attempt = this.current();
    if (attempt.type === 'downloadVideo') return this.pollForLink(attempt, send);
    const answer = this.take('polls', { kind: 'ok' }, attempt);
    const isKnown = this.emulator.generations().some((task) => task.taskId === taskId);
    if (!isKnown && answer.kind !== 'killed') attempt.answers.splice(-1, 1, { kind: 'refused', status: 404 });
    const fault = isKnown ? pollFault(answer) : undefined;
    attempt.killAtEnd = answer.kind === 'killed';
    const polling = this.lastPoll.then(() => {
      if (fault) this.emulator.next('status', fault);
      return send();
    });
    this.lastPoll = polling.catch(() => undefined);
    return polling;
  }

  private async pollForLink(attempt: RunningAttempt, send: () => ReturnType<VideoService['poll']>) {
    const [next] = this.waiting.downloads;
    if (next?.kind === 'link') {
      this.take('downloads', { kind: 'ok' }, attempt);
      this.emulator.next('status', LINK_FAULTS[next.fault]);
    }
    return send();
  }

  private async openVideo(open: () => Promise<VideoBody>): Promise<VideoBody> {
    const attempt = this.current();
    const answer = this.take('downloads', { kind: 'ok' }, attempt);
    if (answer.kind === 'killed' && answer.at === 'start') return attempt.kill();
    const fault = downloadFault(answer);
    if (fault) this.emulator.next('download', fault);
    const body = await open();
    if (answer.kind !== 'killed') return body;
    attempt.killAtEnd = answer.at === 'end';
    if (answer.at === 'middle') body.stream = Readable.from(this.cutOff(body.stream, attempt));
    return body;
  }

  private async *cutOff(stream: Readable, attempt: RunningAttempt): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of stream) {
      yield chunk.subarray(0, BYTES_BEFORE_KILL - bytes);
      bytes += chunk.length;
      if (bytes < BYTES_BEFORE_KILL) continue;
      await this.untilPart();
      await attempt.kill();
    }
  }

  /** Unlike that of a real one, the code of a killed worker would still create its part, after the next attempt has begun. */
  private async untilPart(): Promise<void> {
    const endsAtMs = Date.now() + LONGEST_OPEN_MS;
    const hasPart = async () => (await filesIn(this.folder)).some((file) => file.endsWith('.part'));
    while (!(await hasPart()) && Date.now() < endsAtMs) await sleep(CANCEL_SETTLES_MS / 10);
  }

  private scriptedStorage(): VideoStorage {
    const real = createFileStorage(this.folder);
    return {
      ...real,
      write: async (key, content, contentType) => {
        const attempt = this.running.get(keyOf(Context.current()));
        if (this.dead.has(keyOf(Context.current()))) return this.hang();
        const [last] = attempt?.answers.slice(-1) ?? [];
        const dies = last?.kind === 'killed' && last.at === 'before-record';
        if (attempt && dies && /"state": "submitted"/.test(String(content))) return attempt.kill();
        return real.write(key, content, contentType);
      },
    };
  }

  private take<Kind extends keyof Stage['waiting']>(
    kind: Kind,
    otherwise: Stage['waiting'][Kind][number],
    attempt: Attempt,
  ): Stage['waiting'][Kind][number] {
    const answer = this.waiting[kind].shift() ?? otherwise;
    attempt.answers.push(answer);
    return answer;
  }

  private nextKill(activityType: string) {
    const kind = ANSWERS_OF[activityType];
    const next = kind && this.waiting[kind][0];
    return next?.kind === 'killed' ? next : undefined;
  }

  private diesAtStart(attempt: RunningAttempt): boolean {
    const kind = ANSWERS_OF[attempt.type];
    if (kind === undefined || this.nextKill(attempt.type)?.at !== 'start') return false;
    this.take(kind, { kind: 'ok' }, attempt);
    return true;
  }

  private hang(): Promise<never> {
    const hanging = new Promise<never>((_, reject) => {
      this.abandoned.push(() => reject(new Error('abandoned')));
    });
    // Nobody may be there to hear of it.
    hanging.catch(() => undefined);
    return hanging;
  }

  private current(): RunningAttempt {
    const attempt = this.running.get(keyOf(Context.current()));
    if (attempt === undefined) throw new Error('a call outside of an attempt');
    return attempt;
  }

  /** Ends a job that polls for ever, so that the others of its group can end. */
  private failTasks(): void {
    for (const task of this.emulator.generations()) {
      task.failure = { code: 'endless', message: 'the job makes too many attempts', atMs: 0 };
    }
  }

  /** The emulator's tasks all succeed unless they are told otherwise. */
  private endTasksAsScripted(): void {
    const { taskEnds, jobTimeMs } = this.script;
    for (const task of this.emulator.generations()) ENDINGS[taskEnds](task, jobTimeMs);
  }
}

export const ENDINGS: Record<Script['taskEnds'], (task: EmulatedTask, jobTimeMs: number) => void> = {
  succeeded: () => undefined,
  failed: (task) => {
    task.failure ??= { code: 'foxes', message: 'no' };
  },
  refused: (task) => {
    task.failure ??= { code: 'moderated', message: 'no' };
  },
  cancelled: (task, jobTimeMs) => {
    task.cancelledAtMs ??= task.submittedAtMs + jobTimeMs;
  },
};

const ANSWERS_OF: Record<string, 'submits' | 'polls' | 'downloads' | undefined> = {
  submitVideo: 'submits',
  pollVideo: 'polls',
  downloadVideo: 'downloads',
};

function keyOf({ info }: Context): string {
  return `${info.workflowExecution?.runId}/${info.activityId}/${info.attempt}`;
}

function describeEnd(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  return (error instanceof ApplicationFailure && fromTemporalType(error.type)) || String(error);
}

/** Heartbeats of an attempt that may be killed: they reach the server, or wait until it is known that they do. */
function withheldHeartbeats(context: Context, isWithheld: boolean) {
  const { heartbeat: beat } = context;
  let withheld: { details: unknown } | undefined;
  let isStopped = false;
  const heartbeat = (details?: unknown) => {
    if (isStopped) return;
    if (isWithheld) {
      withheld = { details };
      return;
    }
    beat(details);
  };
  Object.assign(context, { heartbeat });
  return {
    stop: () => {
      isStopped = true;
    },
    release: () => {
      isStopped = true;
      if (withheld) beat(withheld.details);
    },
  };
}

const NO = { kind: 'refused', message: 'no' } as const;

export const LINK_FAULTS: Record<Extract<DownloadAnswer, { kind: 'link' }>['fault'], Faults['status']> = {
  'no-video': { kind: 'no-video' },
  'not-found': { ...NO, status: 404 },
  'server-error': { kind: 'server-error' },
};

export function submitFault(answer: SubmitAnswer): Faults['submit'] | undefined {
  switch (answer.kind) {
    case 'task':
    case 'killed':
      return undefined;
    case 'refused':
      return { ...NO, status: answer.status };
    case 'lost':
      return answer.how === 'bad-gateway' ? { kind: 'server-error', status: 502 } : { kind: answer.how };
    default:
      return answer;
  }
}

export function pollFault(answer: PollAnswer): Faults['status'] | undefined {
  switch (answer.kind) {
    case 'ok':
    case 'killed':
      return undefined;
    case 'refused':
      return { ...NO, status: answer.status };
    default:
      return answer;
  }
}

export function downloadFault(answer: DownloadAnswer): Faults['download'] | undefined {
  switch (answer.kind) {
    case 'ok':
    case 'killed':
    case 'link':
      return undefined;
    case 'refused':
      return { ...NO, status: answer.status };
    default:
      return answer;
  }
}

/** As earlier tasks of such requests would have taught the worker. */
async function writeLearned(folder: string, learnedMs: number): Promise<void> {
  const ended = Array.from({ length: 5 }, (_, task) => [learnedMs, learnedMs + 1_000 * task]);
  const learned = { kinds: [{ service: ADDRESS, kind: 'text 480p 5s', ended }] };
  const file = join(folder, LEARNED_TIMES_KEY);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(learned));
}
