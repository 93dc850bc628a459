import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import {
  type BundleOptions,
  bundleWorkflowCode,
  DefaultLogger,
  type InjectedSinks,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { createVideoActivities, type VideoActivities } from '../../activities';
import { BATCH_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../../src/contract/names';
import { RateLimiter, type VideoService } from '../../src/service';
import type { VideoStorage } from '../../src/storage';
import type { VideoTestEnvironment } from '../../src/testing';
import { type BatchPerformance, BatchStage, REQUESTS_FILE, requestOf } from './batch-stage';
import { changeOnce } from './change-once';
import type { Cue, DirectorActivities, direct } from './director';
import type { BatchScript, Script } from './script';
import { type Performance, REQUEST, type Scene, Stage, StageClock, type StageTools } from './stage';
import type { NoteSinks } from './take-notes';

/** A run continues as new when its history is longer: a job at nearly every poll, a batch after its first round. */
const SHORT_HISTORIES = {
  LONGEST_HISTORY_EVENTS: 4,
  LONGEST_BATCH_HISTORY_EVENTS: 14,
  SHORTEST_HISTORY_EVENTS: 1,
};

/** The test server skips no time while a local activity runs: with the real limits most of a play would be waiting. */
const SHORT_LOCAL_POLLS = { LOCAL_POLL_CLOSE_MS: 1_500, LOCAL_POLL_RETRY_MS: 20 };

/** A batch reads another page after every second item. */
const REQUESTS_IN_A_PAGE = 2;

/** Something happens every second, even on a busy machine. A server that stops skipping time would take days. */
const STALLED_AFTER_MS = 60_000;

/** Nothing happens any more, although jobs have not ended: they wait for ever, or Temporal's test server does. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
}

/** A folder in memory: every record is synced, and thousands of jobs on a busy disk would wait too long for that. */
const MEMORY = '/dev/shm';

/** The logs of thousands of failing activities say nothing here. Call it first. */
export function silenceLogs(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}

/** The workflows of a theatre, bundled: those that are played, and those that play. */
export async function bundleTheatre(options: Partial<BundleOptions> = {}): Promise<string> {
  const { workflowInterceptorModules = [], ...rest } = options;
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('./director'),
    workflowInterceptorModules: [require.resolve('./take-notes'), ...workflowInterceptorModules],
    logger: new DefaultLogger('WARN'),
    ...rest,
  });
  return code;
}

/** Other workflows than those of the sources, with other sinks than every theatre has. */
interface TheatreOptions {
  code?: string;
  sinks?: WorkerOptions['sinks'];
  /** Runs workflows in threads of their own, where Temporal ends one that never pauses. It takes twice the time. */
  threads?: boolean;
}

interface House {
  taskQueue: string;
  worker: Worker;
  running: Promise<void>;
}

type Houses = Record<'continuing' | 'plain', House>;

interface Cleared<P> {
  clear(ended: boolean): Promise<P>;
}

/** Plays many scripts at once on one server, each on its own stage. */
export class Theatre {
  private readonly stages = new Map<string, Scene>();
  private lastEventAtMs = 0;

  private constructor(
    private readonly env: VideoTestEnvironment,
    private readonly folder: string,
    private readonly options: TheatreOptions,
    private houses: Houses | undefined,
  ) {}

  static async open(env: VideoTestEnvironment, options: TheatreOptions = {}): Promise<Theatre> {
    const { code = await bundleTheatre() } = options;
    const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'videogen-model-'));
    const theatre = new Theatre(env, folder, options, undefined);
    const [continuing, plain] = await Promise.all([
      theatre.openHouse(withConstants(code, { ...SHORT_LOCAL_POLLS, ...SHORT_HISTORIES })),
      theatre.openHouse(withConstants(code, SHORT_LOCAL_POLLS)),
    ]);
    theatre.houses = { continuing, plain };
    return theatre;
  }

  /** Plays scripts and returns what happened to the job of each. */
  play(scripts: Script[]): Promise<Performance[]> {
    return this.perform(scripts, (...given) => Stage.set(...given), jobCue);
  }

  /** The same for batches. */
  playBatches(scripts: BatchScript[]): Promise<BatchPerformance[]> {
    return this.perform(scripts, (...given) => BatchStage.set(...given), batchCue);
  }

  private async perform<S extends { continues: boolean }, P, St extends Scene & Cleared<P> & { script: S }>(
    scripts: S[],
    set: (workflowId: string, script: S, tools: StageTools) => Promise<St>,
    cueOf: (stage: St) => Omit<Cue, 'workflowId' | 'taskQueue'>,
  ): Promise<P[]> {
    const { houses } = this;
    if (houses === undefined) throw new Error('the theatre is closed');
    const group = randomUUID().slice(0, 8);
    const readServer = () => this.env.temporal.currentTimeMs();
    const nowMs = await readServer();
    const stages = await Promise.all(
      scripts.map((script, index) => {
        const clock = new StageClock(readServer, nowMs);
        return set(`${group}-${index}`, script, { clock, folder: this.folder });
      }),
    );
    for (const stage of stages) this.stages.set(stage.workflowId, stage);
    try {
      const cues = stages.map((stage) => ({
        workflowId: stage.workflowId,
        taskQueue: (stage.script.continues ? houses.continuing : houses.plain).taskQueue,
        ...cueOf(stage),
      }));
      const stuck = await this.direct(houses, cues);
      return await Promise.all(stages.map((stage) => stage.clear(!stuck.includes(stage.workflowId))));
    } catch (error) {
      await Promise.all(stages.map((stage) => stage.clear(false)));
      throw error;
    } finally {
      for (const stage of stages) this.stages.delete(stage.workflowId);
    }
  }

  async close(): Promise<void> {
    const houses = Object.values(this.houses ?? {});
    for (const { worker } of houses) worker.shutdown();
    await Promise.all(houses.map(({ running }) => running));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async direct({ continuing, plain }: Houses, cues: Cue[]): Promise<string[]> {
    const director = await this.env.temporal.client.workflow.start<typeof direct>('direct', {
      workflowId: `director-${randomUUID()}`,
      taskQueue: plain.taskQueue,
      args: [cues],
    });
    const died = Promise.race([continuing.running, plain.running]).then(() =>
      Promise.reject(new Error('a worker has ended')),
    );
    this.lastEventAtMs = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        if (performance.now() - this.lastEventAtMs < STALLED_AFTER_MS) return;
        const open = cues.filter(({ workflowId }) => !this.stages.get(workflowId)?.hasEnded);
        reject(new Stalled(`${open.length} jobs have not ended: ${JSON.stringify(open[0])}`));
      }, 1_000);
    });
    const ended = new AbortController();
    try {
      return await Promise.race([director.result(), died, late, this.noticeRealTime(ended.signal)]);
    } catch (error) {
      // With it end the jobs, which would otherwise go on without their stages.
      await director.terminate('the group has failed').catch(() => undefined);
      throw error;
    } finally {
      clearInterval(timer);
      ended.abort();
    }
  }

  /** Jobs that wait on a server which skips no time still poll now and then, so that something happens. */
  private async noticeRealTime(signal: AbortSignal): Promise<never> {
    for (;;) {
      const fromMs = await this.env.temporal.currentTimeMs();
      // Never settles once the group has ended.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, STALLED_AFTER_MS);
        signal.addEventListener('abort', () => clearTimeout(timer));
      });
      const skippedMs = (await this.env.temporal.currentTimeMs()) - fromMs;
      if (skippedMs < 2 * STALLED_AFTER_MS) throw new Stalled(`the server went on by ${skippedMs} ms only`);
    }
  }

  private async openHouse(code: string): Promise<House> {
    const taskQueue = `model-${randomUUID()}`;
    const here = () => this.stageOf(Context.current());
    const service: VideoService = {
      get profile() {
        return inActivity() ? here().service.profile : undefined;
      },
      submit: (...given) => here().service.submit(...given),
      poll: (...given) => here().service.poll(...given),
      openVideo: (...given) => here().service.openVideo(...given),
      cancel: (...given) => here().service.cancel(...given),
      close: async () => undefined,
    };
    const storage: VideoStorage = {
      receive: (...given) => here().storage.receive(...given),
      write: (...given) => here().storage.write(...given),
      read: (...given) => here().storage.read(...given),
      readPart: async (...given) => here().storage.readPart?.(...given),
    };
    const rateLimiter = new LimiterOfStage(() => here().rateLimiter);
    const real = createVideoActivities({ service, storage, rateLimiter });
    // What a worker has learned is of one stage, whose storage has it.
    const ofStage = new WeakMap<Scene, VideoActivities>();
    const own = () => {
      const stage = here();
      // A killed worker's rate limiter dies with it, so each attempt asks for the one of its worker.
      const made =
        ofStage.get(stage) ??
        createVideoActivities({ service: stage.service, storage: stage.storage, rateLimiter });
      ofStage.set(stage, made);
      return made;
    };
    type Replaced = 'readRequests' | 'submitVideo' | 'recallSubmit' | 'downloadVideo';
    const activities: Pick<typeof real, Replaced> & DirectorActivities = {
      submitVideo: (input) => own().submitVideo(input),
      recallSubmit: (input) => own().recallSubmit(input),
      downloadVideo: (input) => own().downloadVideo(input),
      readRequests: (input) => real.readRequests({ most: REQUESTS_IN_A_PAGE, ...input }),
      taskToAdopt: async (workflowId, generation, item) =>
        this.stages.get(workflowId)?.taskId(generation, item) ?? '',
      cancelJob: async (workflowId) => {
        const { workflow } = this.env.temporal.client;
        const cancel = () => workflow.getHandle(workflowId).cancel();
        await this.stages.get(workflowId)?.cancel(cancel);
      },
    };
    const sinks: InjectedSinks<NoteSinks> = {
      notes: {
        take: {
          fn: ({ workflowId, runId }, numbered) => {
            this.lastEventAtMs = performance.now();
            this.stages.get(workflowId)?.takeNote(runId, numbered);
          },
          callDuringReplay: false,
        },
      },
    };
    const worker = await Worker.create({
      debugMode: this.options.threads !== true,
      connection: this.env.temporal.nativeConnection,
      taskQueue,
      workflowBundle: { code },
      activities: { ...real, ...activities },
      sinks: { ...sinks, ...this.options.sinks },
      maxCachedWorkflows: 1_000,
      interceptors: {
        activity: [
          (context) => ({
            inbound: {
              execute: (input, next) => {
                this.lastEventAtMs = performance.now();
                const stage = this.stages.get(context.info.workflowExecution?.workflowId ?? '');
                return stage ? stage.attempt(context, () => next(input)) : next(input);
              },
            },
          }),
        ],
      },
    });
    const running = worker.run();
    running.catch(() => undefined);
    return { taskQueue, worker, running };
  }

  private stageOf({ info }: Context): Scene {
    const stage = this.stages.get(info.workflowExecution?.workflowId ?? '');
    if (stage === undefined) throw new Error(`no stage for ${info.workflowExecution?.workflowId}`);
    return stage;
  }
}

/** The batch activities ask for the profile when they are created. */
function inActivity(): boolean {
  try {
    return Context.current() !== undefined;
  } catch {
    return false;
  }
}

class LimiterOfStage extends RateLimiter {
  constructor(private readonly current: () => RateLimiter) {
    super();
  }

  override acquire(...given: Parameters<RateLimiter['acquire']>): ReturnType<RateLimiter['acquire']> {
    return this.current().acquire(...given);
  }

  override followServerClock(server: object, readClock: () => Promise<number>): Promise<void> {
    return this.current().followServerClock(server, readClock);
  }

  override recordTaskEnd(): void {
    this.current().recordTaskEnd();
  }
}

function jobCue(stage: Stage): Omit<Cue, 'workflowId' | 'taskQueue'> {
  const { start, deadlineMs, holdForMs, onLostSubmit, polling, deeds } = stage.script;
  const options = { deadline: deadlineMs, holdFor: holdForMs, onLostSubmit, polling };
  const input =
    start === 'request'
      ? { request: REQUEST, ...options }
      : { taskId: stage.taskId(start === 'adopt' ? 0 : 'unknown'), ...options };
  return { workflowType: WORKFLOW_TYPE, input, deeds };
}

function batchCue({ script }: BatchStage): Omit<Cue, 'workflowId' | 'taskQueue'> {
  const { deadlineMs, holdForMs, onLostSubmit, polling, deeds, window, onFailure, items, fromFile } = script;
  const options = { deadline: deadlineMs, holdFor: holdForMs, onLostSubmit, polling, window, onFailure };
  return {
    workflowType: BATCH_WORKFLOW_TYPE,
    input: fromFile
      ? { requestsFrom: REQUESTS_FILE, ...options }
      : { requests: items.map((_, index) => requestOf(index + 1)), ...options },
    deeds,
  };
}

/** The workflows as they are, but for some numbers. */
function withConstants(code: string, values: Record<string, number>): string {
  return Object.entries(values).reduce(
    (changed, [name, value]) =>
      changeOnce(changed, new RegExp(`\\b${name} = \\d[\\d_]*`), `${name} = ${value}`),
    code,
  );
}
