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
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { changeOnce } from './breaks';
import type { Script } from './random-script';
import type { EventSinks } from './record-events';
import type { OperatorActivities, runWorkflows, WorkflowStart } from './run-workflows';
import { type Observed, RunningScript } from './running-script';
import { type ScriptedWorkflow, ServerClock } from './scripted-workflow';

/** A run continues as new when its history is longer: a job at nearly every poll, a batch after its first round. */
const SHORT_HISTORIES = {
  LONGEST_HISTORY_EVENTS: 4,
  // Joining the held items takes some.
  LONGEST_BATCH_HISTORY_EVENTS: 36,
  SHORTEST_HISTORY_EVENTS: 1,
};

/** The test server skips no time while a local activity runs: with the real limits most of a run would be waiting. */
const SHORT_LOCAL_POLLS = { LOCAL_POLL_CLOSE_MS: 1_500, LOCAL_POLL_RETRY_MS: 20 };

/** A batch reads another page after every second item. */
const REQUESTS_IN_A_PAGE = 2;

/** In this time a server skips far more, even on a busy machine. One that has stopped would take days. */
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
class Stalled extends Error {
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

/** The workflows of the product, and the one that runs them, bundled. */
export async function bundleWorkflows(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('./run-workflows'),
    workflowInterceptorModules: [require.resolve('./record-events')],
    logger: new DefaultLogger('WARN'),
  });
  return code;
}

interface RunningWorker {
  taskQueue: string;
  worker: Worker;
  running: Promise<void>;
}

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

/** Runs the real workflows of many scripts at once on one server. */
export class ScriptRunner {
  private readonly scripts = new Map<string, RunningScript>();
  private readonly workflows = new Map<string, ScriptedWorkflow>();
  private workers: RunningWorker[] = [];
  private attemptsUnderWay = 0;

  private constructor(
    private readonly code: string,
    private readonly folder: string,
    private env: VideoTestEnvironment,
  ) {}

  static async open(code: string): Promise<ScriptRunner> {
    const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'videogen-model-'));
    const runner = new ScriptRunner(code, folder, await createVideoTestEnvironment());
    await runner.openWorkers();
    return runner;
  }

  /**
   * Runs scripts, and returns what happened in each. Temporal's test server now and then stops skipping time, and then nothing
   * on it ends. So what stalls is run once more on a new server: a job that never ends by its own fault stalls there as well.
   */
  async run(scripts: Script[]): Promise<Observed[]> {
    try {
      return await this.runOnce(scripts);
    } catch (error) {
      if (!(error instanceof Stalled)) throw error;
      // The check for what a test leaves open knows of it.
      Object.assign(globalThis, { serverHasStalled: true });
      process.stderr.write(`Once more on a new server: ${error.message}\n`);
      await this.renewServer();
      return this.runOnce(scripts);
    }
  }

  async renewServer(): Promise<void> {
    await this.closeServer();
    this.env = await createVideoTestEnvironment();
    await this.openWorkers();
  }

  async close(): Promise<void> {
    await this.closeServer();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async closeServer(): Promise<void> {
    for (const { worker } of this.workers) worker.shutdown();
    await Promise.allSettled(this.workers.map(({ running }) => running));
    await this.env.teardown();
  }

  /** One whose workflows continue as new as often as they can, and one whose workflows do not. */
  private async openWorkers(): Promise<void> {
    this.workers = await Promise.all([
      this.openWorker(withConstants(this.code, { ...SHORT_LOCAL_POLLS, ...SHORT_HISTORIES })),
      this.openWorker(withConstants(this.code, SHORT_LOCAL_POLLS)),
    ]);
  }

  private async runOnce(scripts: Script[]): Promise<Observed[]> {
    const group = randomUUID().slice(0, 8);
    const readServer = () => this.env.temporal.currentTimeMs();
    const nowMs = await readServer();
    const place = { folder: this.folder, newClock: () => new ServerClock(readServer, nowMs) };
    const running = await Promise.all(
      scripts.map((script, index) => RunningScript.prepare(`${group}-${index}`, script, place)),
    );
    for (const script of running)
      for (const workflow of script.workflows) {
        this.workflows.set(workflow.workflowId, workflow);
        this.scripts.set(workflow.workflowId, script);
      }
    const close = (stuck: string[]) =>
      Promise.all(running.map((script) => script.close(!stuck.includes(script.workflowId))));
    try {
      const [continuing, plain] = this.workers.map(({ taskQueue }) => taskQueue);
      const starts = running.map((one) => one.start((one.script.continues ? continuing : plain) ?? ''));
      return await close(await this.runToEnd(starts));
    } catch (error) {
      await close(running.map(({ workflowId }) => workflowId));
      throw error;
    } finally {
      this.workflows.clear();
      this.scripts.clear();
    }
  }

  /** Returns the workflows that did not end. */
  private async runToEnd(starts: WorkflowStart[]): Promise<string[]> {
    const parent = await this.env.temporal.client.workflow.start<typeof runWorkflows>('runWorkflows', {
      workflowId: `run-${randomUUID()}`,
      taskQueue: this.workers[0]?.taskQueue ?? '',
      args: [starts],
    });
    const died = Promise.race(this.workers.map(({ running }) => running)).then(() =>
      Promise.reject(new Error('a worker has ended')),
    );
    const ended = new AbortController();
    const { signal } = ended;
    try {
      return await Promise.race([
        parent.result(),
        died,
        this.noticeRealTime(starts, signal),
        this.keepSkipping(signal),
      ]);
    } catch (error) {
      // With it end the jobs, which would otherwise continue without their scripts.
      await parent.terminate('the group has failed').catch(() => undefined);
      throw error;
    } finally {
      // The others are rejected, which nobody notices any more.
      ended.abort();
    }
  }

  /** Rejects when the server skips no more time. */
  private async noticeRealTime(starts: WorkflowStart[], signal: AbortSignal): Promise<never> {
    const { temporal } = this.env;
    /** A server that has stopped may not answer at all. */
    const readClock = () =>
      temporal.connection
        .withDeadline(Date.now() + STALLED_AFTER_MS, () => temporal.currentTimeMs())
        .catch((error: unknown) => Promise.reject(new Stalled(`its clock cannot be read: ${error}`)));
    for (;;) {
      const fromMs = await readClock();
      await sleep(STALLED_AFTER_MS, undefined, { signal });
      const passedMs = (await readClock()) - fromMs;
      if (passedMs >= 2 * STALLED_AFTER_MS) continue;
      const open = starts.filter(({ workflowId }) => this.scripts.get(workflowId)?.isRunning);
      throw new Stalled(
        `only ${passedMs} ms passed on the server, ${this.attemptsUnderWay} attempts are under way, ` +
          `and ${open.length} scripts have not ended: ${JSON.stringify(open[0])}`,
      );
    }
  }

  /**
   * Unlocks a clock that has stopped skipping. The server forgets to unlock it after an activity whose workflow has ended, and
   * after a workflow task whose workflow was terminated.
   */
  private async keepSkipping(signal: AbortSignal): Promise<never> {
    /** How far the server's clock is ahead of the machine's. */
    const readAheadMs = async () => (await this.env.temporal.currentTimeMs()) - performance.now();
    let aheadMs = await readAheadMs();
    let idleMs = 0;
    for (;;) {
      await sleep(READ_CLOCK_EVERY_MS, undefined, { signal });
      const beforeMs = aheadMs;
      aheadMs = await readAheadMs();
      // On a busy machine the pauses are longer, and prove no more.
      if (aheadMs - beforeMs > LEAST_SKIP_MS) idleMs = 0;
      else if (this.attemptsUnderWay === 0) idleMs += READ_CLOCK_EVERY_MS;
      if (idleMs < LOCKED_AFTER_IDLE_MS) continue;
      idleMs = 0;
      await this.unlock();
    }
  }

  private async openWorker(code: string): Promise<RunningWorker> {
    const taskQueue = `model-${randomUUID()}`;
    const here = () => this.workflowOf(Context.current()).activities();
    const ofWorkers = Object.fromEntries(
      OF_WORKERS.map((name) => [name, (...given: [never]) => here()[name](...given)]),
    );
    const sinks: InjectedSinks<EventSinks> = {
      events: {
        record: {
          fn: ({ workflowId, runId }, numbered) => {
            const workflow = this.workflows.get(workflowId);
            workflow?.record(runId, numbered);
            const isOrphan = workflow && this.scripts.get(workflowId)?.isOrphan(workflow);
            if (numbered.event.kind === 'end' && isOrphan) void this.unlockAfterEnd();
          },
          callDuringReplay: false,
        },
      },
    };
    const worker = await Worker.create({
      connection: this.env.temporal.nativeConnection,
      taskQueue,
      workflowBundle: { code },
      activities: {
        ...ofWorkers,
        ...this.operatorActivities(),
        awaitJob,
        readRequests: async (input: Parameters<VideoActivities['readRequests']>[0]) =>
          (await here().readRequests(input)).slice(0, REQUESTS_IN_A_PAGE),
      },
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

  private operatorActivities(): OperatorActivities {
    const { workflow: client } = this.env.temporal.client;
    return {
      taskToAdopt: async (job, task) => this.scripts.get(job)?.taskToAdopt(job, task) ?? '',
      decideSubmit: async (job, decision) => {
        const send = () =>
          client.getHandle(job).startUpdate<void, [SubmitDecision]>(DECIDE_SUBMIT_UPDATE, {
            args: [decision],
            waitForStage: 'ACCEPTED',
          });
        // Nothing is held, it has ended, or has not begun. The server never answers for one that ends at this moment.
        await client.withDeadline(Date.now() + LONGEST_UPDATE_MS, send).catch(() => undefined);
      },
      cancelJob: async (job) => this.scripts.get(job)?.cancel(job, () => client.getHandle(job).cancel()),
      terminateJob: async (job) => {
        const workflow = this.workflows.get(job);
        await workflow?.untilNoAttempt();
        // Its last workflow task may still be on its way to the server.
        if (!workflow?.isRunning) return false;
        const terminated = client.getHandle(job).terminate('to be started again');
        return terminated.then(
          () => true,
          () => false,
        );
      },
      isRunning: async (workflowId) => this.scripts.get(workflowId)?.isRunning ?? false,
    };
  }

  /** The test server locks its clock until the parent knows of the end of a child, also if the parent's run is over. */
  private async unlockAfterEnd(): Promise<void> {
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
    this.attemptsUnderWay += 1;
    try {
      return await attempt();
    } finally {
      this.attemptsUnderWay -= 1;
    }
  }

  private workflowOf({ info }: Context): ScriptedWorkflow {
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
