import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { bundleWorkflowCode, DefaultLogger, type InjectedSinks, Runtime, Worker } from '@temporalio/worker';
import type { VideoActivities } from '../../activities';
import { awaitJob } from '../../activities/batch/await-job';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { DECIDE_SUBMIT_UPDATE } from '../../src/contract/names';
import type { VideoTestEnvironment } from '../../src/testing';
import { changeOnce } from './change-once';
import type { DriveActivities, drive, Plan } from './drive';
import { Family, type Played } from './family';
import { type PlayedWorkflow, ServerClock } from './played-workflow';
import type { Script } from './script';
import type { NoteSinks } from './take-notes';

/** A run continues as new when its history is longer: a job at nearly every poll, a batch after its first round. */
const SHORT_HISTORIES = {
  LONGEST_HISTORY_EVENTS: 4,
  // Joining the held items takes some.
  LONGEST_BATCH_HISTORY_EVENTS: 36,
  SHORTEST_HISTORY_EVENTS: 1,
};

/** The test server skips no time while a local activity runs: with the real limits most of a play would be waiting. */
const SHORT_LOCAL_POLLS = { LOCAL_POLL_CLOSE_MS: 1_500, LOCAL_POLL_RETRY_MS: 20 };

/** A batch reads another page after every second item. */
const REQUESTS_IN_A_PAGE = 2;

/** Something happens every second, even on a busy machine. A server that stops skipping time would take days. */
const STALLED_AFTER_MS = 60_000;

/** A workflow task that ends a workflow has reached the server after this. */
const UNLOCK_AFTER_MS = 300;
const UNLOCK_ATTEMPTS = 5;
/** A clock that may skip does so at once when no attempt and no workflow task runs. This much idle time shows that it is locked. */
const LOCKED_AFTER_IDLE_MS = 3_000;
const READ_CLOCK_EVERY_MS = 200;
/** Two clocks that are read one after the other differ by less. */
const LEAST_SKIP_MS = 100;

/** Far longer than an update takes, even on a busy machine. */
const LONGEST_UPDATE_MS = 10_000;
/** An activity that hangs would keep a worker from its end. */
const LONGEST_SHUTDOWN_MS = 10_000;

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

/** The workflows that are played, and the one that drives them, bundled. */
export async function bundlePlayed(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('./drive'),
    workflowInterceptorModules: [require.resolve('./take-notes')],
    logger: new DefaultLogger('WARN'),
  });
  return code;
}

interface RunningWorker {
  taskQueue: string;
  worker: Worker;
  running: Promise<void>;
}

type Workers = Record<'continuing' | 'plain', RunningWorker>;

/** The activities of workers of this package, each run by the worker of its own job. */
const OF_WORKERS = [
  'submitVideo',
  'inspectPendingSubmit',
  'recallSubmit',
  'adoptTask',
  'pollVideo',
  'downloadVideo',
  'cancelVideo',
  'findTurn',
  'openBatch',
  'recordResults',
] as const satisfies (keyof VideoActivities)[];

/** Plays many scripts at once on one server. */
export class ScriptPlayer {
  private readonly families = new Map<string, Family>();
  private readonly workflows = new Map<string, PlayedWorkflow>();
  private lastEventAtMs = 0;
  private attemptsUnderWay = 0;

  private constructor(
    private readonly env: VideoTestEnvironment,
    private readonly folder: string,
    private workers: Workers | undefined,
  ) {}

  static async open(env: VideoTestEnvironment, code: string): Promise<ScriptPlayer> {
    const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'videogen-model-'));
    const player = new ScriptPlayer(env, folder, undefined);
    const [continuing, plain] = await Promise.all([
      player.openWorker(withConstants(code, { ...SHORT_LOCAL_POLLS, ...SHORT_HISTORIES })),
      player.openWorker(withConstants(code, SHORT_LOCAL_POLLS)),
    ]);
    player.workers = { continuing, plain };
    return player;
  }

  /** Plays scripts and returns what happened in each. */
  async play(scripts: Script[]): Promise<Played[]> {
    const { workers } = this;
    if (workers === undefined) throw new Error('the player is closed');
    const group = randomUUID().slice(0, 8);
    const readServer = () => this.env.temporal.currentTimeMs();
    const nowMs = await readServer();
    const place = { folder: this.folder, newClock: () => new ServerClock(readServer, nowMs) };
    const families = await Promise.all(
      scripts.map((script, index) => Family.prepare(`${group}-${index}`, script, place)),
    );
    for (const family of families)
      for (const workflow of family.workflows) {
        this.workflows.set(workflow.workflowId, workflow);
        this.families.set(workflow.workflowId, family);
      }
    try {
      const plans = families.map((family) =>
        family.plan((family.script.continues ? workers.continuing : workers.plain).taskQueue),
      );
      const stuck = await this.drive(workers, plans);
      return await Promise.all(families.map((family) => family.clear(!stuck.includes(family.workflowId))));
    } catch (error) {
      await Promise.all(families.map((family) => family.clear(false)));
      throw error;
    } finally {
      for (const { workflowId } of families.flatMap((family) => family.workflows)) {
        this.workflows.delete(workflowId);
        this.families.delete(workflowId);
      }
    }
  }

  async close(): Promise<void> {
    const workers = Object.values(this.workers ?? {});
    for (const { worker } of workers) worker.shutdown();
    await Promise.allSettled(workers.map(({ running }) => running));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async drive({ continuing, plain }: Workers, plans: Plan[]): Promise<string[]> {
    const driving = await this.env.temporal.client.workflow.start<typeof drive>('drive', {
      workflowId: `drive-${randomUUID()}`,
      taskQueue: plain.taskQueue,
      args: [plans],
    });
    const died = Promise.race([continuing.running, plain.running]).then(() =>
      Promise.reject(new Error('a worker has ended')),
    );
    this.lastEventAtMs = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        if (performance.now() - this.lastEventAtMs < STALLED_AFTER_MS) return;
        const open = plans.filter(({ workflowId }) => this.families.get(workflowId)?.isRunning);
        reject(new Stalled(`${open.length} scripts have not ended: ${JSON.stringify(open[0])}`));
      }, 1_000);
    });
    const ended = new AbortController();
    const { signal } = ended;
    try {
      return await Promise.race([
        driving.result(),
        died,
        late,
        this.noticeRealTime(signal),
        this.keepSkipping(signal),
      ]);
    } catch (error) {
      // With it end the jobs, which would otherwise go on without their scripts.
      await driving.terminate('the group has failed').catch(() => undefined);
      throw error;
    } finally {
      clearInterval(timer);
      // The others are rejected, which nobody notices any more.
      ended.abort();
    }
  }

  /** Jobs that wait on a server which skips no time still poll now and then, so that something happens. */
  private async noticeRealTime(signal: AbortSignal): Promise<never> {
    for (;;) {
      const fromMs = await this.env.temporal.currentTimeMs();
      await sleep(STALLED_AFTER_MS, undefined, { signal });
      const skippedMs = (await this.env.temporal.currentTimeMs()) - fromMs;
      if (skippedMs < 2 * STALLED_AFTER_MS)
        throw new Stalled(
          `the server went on by ${skippedMs} ms only, and ${this.attemptsUnderWay} attempts are under way`,
        );
    }
  }

  /**
   * Unlocks a clock that has stopped skipping. The server forgets to unlock it after an activity whose workflow has ended, and
   * after a workflow task whose workflow was terminated.
   */
  private async keepSkipping(signal: AbortSignal): Promise<never> {
    let before = await this.readClocks();
    let idleMs = 0;
    for (;;) {
      await sleep(READ_CLOCK_EVERY_MS, undefined, { signal });
      const now = await this.readClocks();
      const skippedMs = now.serverMs - before.serverMs - (now.machineMs - before.machineMs);
      before = now;
      // On a busy machine the pauses are longer, and prove no more.
      if (skippedMs > LEAST_SKIP_MS) idleMs = 0;
      else if (this.attemptsUnderWay === 0) idleMs += READ_CLOCK_EVERY_MS;
      if (idleMs < LOCKED_AFTER_IDLE_MS) continue;
      idleMs = 0;
      await this.unlock();
    }
  }

  private async readClocks(): Promise<{ serverMs: number; machineMs: number }> {
    return { serverMs: await this.env.temporal.currentTimeMs(), machineMs: performance.now() };
  }

  private async openWorker(code: string): Promise<RunningWorker> {
    const taskQueue = `model-${randomUUID()}`;
    const here = () => this.workflowOf(Context.current()).activities();
    const ofWorkers = Object.fromEntries(
      OF_WORKERS.map((name) => [name, (...given: [never]) => here()[name](...given)]),
    );
    const { workflow: client } = this.env.temporal.client;
    const own: Pick<VideoActivities, 'readRequests' | 'awaitJob'> & DriveActivities = {
      readRequests: async (input) => (await here().readRequests(input)).slice(0, REQUESTS_IN_A_PAGE),
      awaitJob,
      taskToAdopt: async (job, generation) => this.families.get(job)?.taskToAdopt(job, generation) ?? '',
      decideSubmit: async (job, decision) => {
        const send = () =>
          client.getHandle(job).startUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, {
            args: [decision],
            waitForStage: 'ACCEPTED',
          });
        // Nothing is held, it has ended, or has not begun. The server never answers for one that ends at this moment.
        await client.withDeadline(Date.now() + LONGEST_UPDATE_MS, send).catch(() => undefined);
      },
      cancelJob: async (job) => this.families.get(job)?.cancel(job, () => client.getHandle(job).cancel()),
      terminateJob: async (job) => {
        const workflow = this.workflows.get(job);
        await workflow?.untilNoAttempt();
        // Its last workflow task may still be on its way to the server.
        if (!workflow?.isRunning) return false;
        return client
          .getHandle(job)
          .terminate('to be started again')
          .then(
            () => true,
            () => false,
          );
      },
      isRunning: async (workflowId) => this.families.get(workflowId)?.isRunning ?? false,
    };
    const sinks: InjectedSinks<NoteSinks> = {
      notes: {
        take: {
          fn: ({ workflowId, runId }, numbered) => {
            this.lastEventAtMs = performance.now();
            const workflow = this.workflows.get(workflowId);
            workflow?.takeNote(runId, numbered);
            const isOrphan = workflow && this.families.get(workflowId)?.isOrphan(workflow);
            if (numbered.note.kind === 'end' && isOrphan) void this.unlockClock();
          },
          callDuringReplay: false,
        },
      },
    };
    const worker = await Worker.create({
      connection: this.env.temporal.nativeConnection,
      taskQueue,
      workflowBundle: { code },
      activities: { ...ofWorkers, ...own },
      sinks,
      maxCachedWorkflows: 1_000,
      shutdownForceTime: LONGEST_SHUTDOWN_MS,
      interceptors: {
        activity: [
          (context) => ({
            inbound: {
              execute: (input, next) => {
                const workflow = this.workflows.get(context.info.workflowExecution?.workflowId ?? '');
                const work = () => next(input);
                return this.whileUnderWay(
                  workflow ? () => workflow.attempt(context, input.args[0], work) : work,
                );
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

  /** The test server locks its clock until the parent knows of the end of a child, also if the parent's run is over. */
  private async unlockClock(): Promise<void> {
    for (let attempt = 0; attempt < UNLOCK_ATTEMPTS; attempt++) {
      await sleep(UNLOCK_AFTER_MS);
      // Refused while the clock is not locked: the server has not noticed the end yet.
      if (await this.unlock()) return;
    }
  }

  private async unlock(): Promise<boolean> {
    const { testService } = this.env.temporal.connection;
    const unlocked = testService?.unlockTimeSkipping({}).then(
      () => true,
      () => false,
    );
    return unlocked ?? false;
  }

  private async whileUnderWay<T>(attempt: () => Promise<T>): Promise<T> {
    this.lastEventAtMs = performance.now();
    this.attemptsUnderWay += 1;
    try {
      return await attempt();
    } finally {
      this.attemptsUnderWay -= 1;
      this.lastEventAtMs = performance.now();
    }
  }

  private workflowOf({ info }: Context): PlayedWorkflow {
    const workflow = this.workflows.get(info.workflowExecution?.workflowId ?? '');
    if (workflow === undefined) throw new Error(`no script for ${info.workflowExecution?.workflowId}`);
    return workflow;
  }
}

/** The workflows as they are, but for some numbers. */
function withConstants(code: string, values: Record<string, number>): string {
  return Object.entries(values).reduce(
    (changed, [name, value]) =>
      changeOnce(changed, new RegExp(`\\b${name} = \\d[\\d_]*`), `${name} = ${value}`),
    code,
  );
}
