import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { createVideoActivities, type VideoActivities } from '../../activities';
import { fromTemporalType } from '../../src/contract/failure-table';
import type { VideoRequest } from '../../src/contract/request';
import {
  createVideoService,
  type OpenedVideoService,
  type VideoBody,
  type VideoService,
} from '../../src/service';
import { claimTask, createFileStorage, type VideoStorage } from '../../src/storage';
import type { Emulator, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { EmulatedTask } from '../../src/testing/task-store';
import { filesIn } from '../support/stored-files';
import { KILLED, type WorkflowEvent } from './events';
import type {
  DownloadAnswer,
  JobScript,
  NamedTask,
  PollAnswer,
  ServiceScript,
  SubmitAnswer,
} from './random-script';
import { ScriptedWorkflow, type ServerClock } from './scripted-workflow';

/** Every job asks for the same video but for its seed, so that the emulator makes few. */
export const requestOf = (seed: number): VideoRequest => ({
  prompt: 'A red fox',
  resolution: '480p',
  duration: 5,
  seed,
});
const VIDEO_BYTES = 32 * 1024;
/** Far more than any script asks for: a job that makes more polls without end. */
export const MOST_ATTEMPTS = 160;
/** Beyond the head of a video, so that its file is open. */
const BYTES_BEFORE_KILL = 8 * 1024;
/** How long a download may take to create its part. */
const LONGEST_OPEN_MS = 2_000;
const CHECK_EVERY_MS = 20;
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
  /** What a failure says. */
  message?: string;
  retryAfterMs?: number;
  /** The task that it noted in a heartbeat which reached the server. */
  notedTaskId?: string;
}

interface RunningAttempt extends Attempt {
  kill(): Promise<never>;
  killAtEnd: boolean;
  isKilled: boolean;
}

export interface JobSpec {
  workflowId: string;
  script: ServiceScript;
  seed: number;
  /** The name of its service; one without a name by default. */
  service?: string;
  start: JobScript['start'];
}

/** All that happened to one job. */
export interface ObservedJob extends JobSpec {
  events: ScriptedWorkflow['events'];
  attempts: Attempt[];
  /** The ids of the tasks that were paid for, in order, and of the one that existed before. */
  tasks: string[];
  takenTask?: string;
  posts: number;
  /** The ids of the sends that are on record. */
  sends: string[];
  files: string[];
  /** Whether the stored file has the bytes of the video; undefined without a file. */
  storedRight?: boolean;
}

/** One job with its own service, storage and worker, which do what the script says. */
export class ScriptedJob extends ScriptedWorkflow {
  private readonly attempts: RunningAttempt[] = [];
  private readonly inProgress = new Map<string, RunningAttempt>();
  private readonly waiting: Pick<ServiceScript, 'submits' | 'polls' | 'downloads'>;
  /** Ends what killed attempts still hang in. */
  private readonly abandoned: (() => void)[] = [];
  /** Killed attempts: their code is still there, but does nothing more. */
  private readonly dead = new Set<string>();
  private posts = 0;
  private readonly sends: string[] = [];
  /** The keys of what the job has stored. */
  private readonly stored: string[] = [];
  private takenTask: string | undefined;
  /** One poll is sent after the other: one that was given up on a busy machine takes the answer that was meant for it. */
  private lastPoll: Promise<unknown> = Promise.resolve();
  readonly service: VideoService;
  private readonly storage: VideoStorage;
  private worker: VideoActivities | undefined;

  private constructor(
    readonly spec: JobSpec,
    private readonly folder: string,
    private readonly emulator: Emulator,
    private readonly real: OpenedVideoService,
    clock: ServerClock,
  ) {
    super(spec.workflowId, clock);
    this.waiting = structuredClone(spec.script);
    this.service = this.scriptedService();
    this.storage = this.scriptedStorage();
  }

  static async prepare(spec: JobSpec, folder: string, clock: ServerClock): Promise<ScriptedJob> {
    const { jobTimeMs, idempotencyKeys, cancelling, actions } = spec.script;
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
      profile: cancelling ? { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } : {},
    });
    const job = new ScriptedJob(spec, folder, emulator, service, clock);
    if (spec.start === 'adopt') await service.start(requestOf(spec.seed), { idempotencyKey: 'before' });
    const adoptsTaken = actions.some(({ action }) => action.kind === 'adopt' && action.task === 'taken');
    if (spec.start === 'adopt-taken' || adoptsTaken) await job.makeTaken();
    job.endTasksAsScripted();
    return job;
  }

  /** A task that a job of another namespace has. */
  private async makeTaken(): Promise<void> {
    const { service, seed } = this.spec;
    const { taskId } = await this.real.start(requestOf(seed), { idempotencyKey: 'taken' });
    const owner = { namespace: 'elsewhere', job: 'another' };
    await claimTask(createFileStorage(this.folder), { service, taskId }, owner);
    this.takenTask = taskId;
  }

  private get partsFolder(): string {
    return join(this.folder, `parts-${this.workflowId}`);
  }

  private get tasks(): EmulatedTask[] {
    return this.emulator.generations().filter(({ taskId }) => taskId !== this.takenTask);
  }

  /** The task that the job adopts at its start, or that a decision names. */
  taskId(named: NamedTask): string {
    const taskId = named === 'taken' ? this.takenTask : this.tasks[Number(named)]?.taskId;
    return taskId ?? UNKNOWN_TASK;
  }

  /** The activities of the job's worker, which has its own rate limiter and its own memory. */
  override activities(): VideoActivities {
    const { service: name } = this.spec;
    const { service, storage } = this;
    this.worker ??= createVideoActivities({
      storage,
      ...(name === undefined ? { service } : { services: { [name]: service } }),
    });
    return this.worker;
  }

  /** Runs one attempt of an activity, which may be killed on the way. */
  protected override async run(
    context: Context,
    input: unknown,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    const { info } = context;
    if (this.attempts.length >= MOST_ATTEMPTS) this.failTasks();
    const key = keyOf(context);
    const answeredBy = answersOf(info.activityType, input);
    const beats = withheldHeartbeats(context, this.nextKill(answeredBy)?.heartbeats === 'lost');
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
      attemptAtMs: this.clock.now(),
      answers: [],
      end: 'running',
      killAtEnd: false,
      isKilled: false,
      kill: () => {
        attempt.isKilled = true;
        beats.stop();
        // The next attempt runs in another process, which knows of no limits.
        this.worker = undefined;
        dies(new Error(KILLED));
        this.dead.add(key);
        return this.hang();
      },
    };
    this.attempts.push(attempt);
    this.inProgress.set(key, attempt);
    try {
      if (answeredBy && this.nextKill(answeredBy)?.at === 'start') {
        this.take(answeredBy, { kind: 'ok' }, attempt);
        void attempt.kill();
      }
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
        attempt.message = error.message;
        if (typeof retryAfter === 'number') attempt.retryAfterMs = retryAfter * 1_000;
      }
      throw error;
    } finally {
      if (!attempt.isKilled) beats.release();
      await this.untilMayEnd(info);
      this.inProgress.delete(key);
    }
  }

  /** Collects what happened, and ends everything. */
  async close(): Promise<ObservedJob> {
    const { spec, events, attempts, posts, sends, takenTask } = this;
    const parts = await filesIn(this.partsFolder).catch(() => []);
    const files = [...new Set(this.stored), ...parts];
    const storedRight = await this.compareVideo(events.at(-1));
    const tasks = this.tasks.map(({ taskId }) => taskId);
    for (const end of this.abandoned) end();
    await this.real.close();
    await this.emulator.close();
    // What was abandoned tidies up first.
    await new Promise((resolve) => setImmediate(resolve));
    return {
      ...spec,
      ...{ events, attempts, tasks, posts, sends, files },
      ...(storedRight !== undefined && { storedRight }),
      ...(takenTask !== undefined && { takenTask }),
    };
  }

  private async compareVideo(last: WorkflowEvent | undefined): Promise<boolean | undefined> {
    if (last?.kind !== 'end' || !('succeeded' in last.outcome)) return undefined;
    const { video, taskId } = last.outcome.succeeded;
    const stored = await readFile(fileURLToPath(video.uri)).catch(() => undefined);
    return stored?.equals(await this.emulator.video(taskId)) ?? false;
  }

  private scriptedService(): VideoService {
    const { real } = this;
    return {
      address: real.address,
      profile: real.profile,
      start: (request, options) => this.submit(() => real.start(request, options)),
      // Without its signal: a poll that ran out of time on a busy machine would leave its answer to the next one.
      status: (taskId) => this.poll(taskId, () => real.status(taskId)),
      open: (link, options) => this.openVideo(() => real.open(link, options)),
      cancel: async (...given) => real.cancel?.(...given) ?? 'not-offered',
    };
  }

  private async submit(send: () => ReturnType<OpenedVideoService['start']>) {
    const attempt = this.current();
    const answer = this.take('submits', { kind: 'task' }, attempt);
    if (answer.kind === 'killed' && answer.at === 'before-send') return attempt.kill();
    const fault = faultFor(answer);
    if (fault) this.emulator.next('submit', fault);
    this.posts += 1;
    try {
      const sent = await send();
      if (answer.kind === 'killed' && answer.at === 'after-send') return attempt.kill();
      if (answer.kind !== 'killed' || answer.heartbeats === 'kept') attempt.notedTaskId = sent.taskId;
      attempt.killAtEnd = answer.kind === 'killed' && answer.at === 'after-record';
      return sent;
    } finally {
      this.endTasksAsScripted();
    }
  }

  private async poll(taskId: string, send: () => ReturnType<OpenedVideoService['status']>) {
    const attempt = this.current();
    if (attempt.type === 'downloadVideo') return this.pollForLink(attempt, send);
    const answer = this.take('polls', { kind: 'ok' }, attempt);
    const isKnown = this.emulator.generations().some((task) => task.taskId === taskId);
    if (!isKnown && answer.kind !== 'killed') attempt.answers.splice(-1, 1, { kind: 'refused', status: 404 });
    const fault = isKnown ? faultFor(answer) : undefined;
    attempt.killAtEnd = answer.kind === 'killed';
    const polling = this.lastPoll.then(() => {
      if (fault) this.emulator.next('status', fault);
      return send();
    });
    this.lastPoll = polling.catch(() => undefined);
    return polling;
  }

  private async pollForLink(attempt: RunningAttempt, send: () => ReturnType<OpenedVideoService['status']>) {
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
    const fault = faultFor(answer);
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
    const hasPart = async () => (await filesIn(this.partsFolder).catch(() => [])).length > 0;
    while (!(await hasPart()) && Date.now() < endsAtMs) await sleep(CHECK_EVERY_MS);
  }

  private scriptedStorage(): VideoStorage {
    const real = createFileStorage(this.folder);
    return {
      ...real,
      create: async (key, content) => {
        const attempt = this.inProgress.get(currentKey());
        if (this.dead.has(currentKey())) return this.hang();
        const { event, id } = key.startsWith('jobs/') ? JSON.parse(content) : {};
        const [last] = attempt?.answers.slice(-1) ?? [];
        if (attempt && event === 'task' && last?.kind === 'killed' && last.at === 'before-record')
          return attempt.kill();
        if (event === 'sending') this.sends.push(id);
        return real.create(key, content);
      },
      publishFile: async (path, key, file) => {
        const published = await real.publishFile(path, key, file);
        this.stored.push(key);
        return published;
      },
      write: async (key, content, contentType) => {
        if (this.dead.has(currentKey())) return this.hang();
        this.stored.push(key);
        return real.write(key, content, contentType);
      },
      partsFolder: this.partsFolder,
    };
  }

  private take<Kind extends keyof ScriptedJob['waiting']>(
    kind: Kind,
    otherwise: ScriptedJob['waiting'][Kind][number],
    attempt: Attempt,
  ): ScriptedJob['waiting'][Kind][number] {
    const answer = this.waiting[kind].shift() ?? otherwise;
    attempt.answers.push(answer);
    return answer;
  }

  private nextKill(kind: keyof ScriptedJob['waiting'] | undefined) {
    const next = kind && this.waiting[kind][0];
    return next?.kind === 'killed' ? next : undefined;
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
    const attempt = this.inProgress.get(currentKey());
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
    const { taskEnds, jobTimeMs } = this.spec.script;
    for (const task of this.emulator.generations()) ENDINGS[taskEnds](task, jobTimeMs);
  }
}

const ENDINGS: Record<ServiceScript['taskEnds'], (task: EmulatedTask, jobTimeMs: number) => void> = {
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

/** The answers that an activity takes. A task that a job was started for is adopted without a poll. */
function answersOf(type: string, input: unknown): 'submits' | 'polls' | 'downloads' | undefined {
  switch (type) {
    case 'submitVideo':
      return 'submits';
    case 'pollVideo':
      return 'polls';
    case 'adoptTask':
      return Object(input).isPolled ? 'polls' : undefined;
    case 'downloadVideo':
      return 'downloads';
    default:
      return undefined;
  }
}

/** Of the attempt that runs; none outside of one. */
function currentKey(): string {
  try {
    return keyOf(Context.current());
  } catch {
    return '';
  }
}

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

const LINK_FAULTS: Record<Extract<DownloadAnswer, { kind: 'link' }>['fault'], Faults['status']> = {
  'no-video': { kind: 'no-video' },
  'not-found': { ...NO, status: 404 },
  'server-error': { kind: 'server-error' },
};

function faultFor(answer: SubmitAnswer): Faults['submit'] | undefined;
function faultFor(answer: PollAnswer): Faults['status'] | undefined;
function faultFor(answer: DownloadAnswer): Faults['download'] | undefined;
function faultFor(
  answer: SubmitAnswer | PollAnswer | DownloadAnswer,
): Faults['submit' | 'status' | 'download'] | undefined {
  switch (answer.kind) {
    case 'task':
    case 'ok':
    case 'killed':
    case 'link':
      return undefined;
    case 'refused':
      return { ...NO, status: answer.status };
    case 'lost':
      return answer.how === 'bad-gateway' ? { kind: 'server-error', status: 502 } : { kind: answer.how };
    default:
      return answer;
  }
}
