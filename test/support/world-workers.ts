import { randomUUID } from 'node:crypto';
import { type WorkflowClientInterceptor, WorkflowNotFoundError } from '@temporalio/client';
import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import type { Caps } from '../../src/contract/caps';
import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { ledgerIdOf } from '../../src/contract/names';
import type { RateLimiter, VideoService } from '../../src/service';
import type { VideoStorage } from '../../src/storage';
import type { VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker } from '../../src/worker/video-worker';
import { redirectSubmits } from './redirect-submits';

/** What the activities of a worker use during one test. */
export interface WorldTools {
  service: VideoService;
  storage: VideoStorage;
  rateLimiter: RateLimiter;
}

interface WorkerKind {
  onLostSubmit?: LostSubmitPolicy;
  largestVideoBytes?: number;
  caps?: Caps;
  worker?: Partial<WorkerOptions>;
}

/**
 * Runs a test on a worker with these tools. A worker takes a second to start and warm up, so a free one is reused with
 * new tools. It is free again when every job of the test has ended.
 */
export async function onWorker<T>(
  env: VideoTestEnvironment,
  tools: WorldTools,
  kind: WorkerKind,
  work: (taskQueue: string) => Promise<T>,
): Promise<T> {
  const key = JSON.stringify([
    kind.onLostSubmit,
    kind.largestVideoBytes,
    kind.caps,
    tools.service.profile?.requestFields,
    tools.service.profile?.prices,
  ]);
  const isShared = kind.worker === undefined;
  const index = isShared ? freeWorkers.findIndex((free) => free.env === env && free.key === key) : -1;
  const [free] = index < 0 ? [] : freeWorkers.splice(index, 1);
  const worker = free?.worker ?? (await SharedWorker.start(env, tools, kind));
  try {
    return await worker.use(tools, work);
  } finally {
    if (isShared) freeWorkers.push({ env, key, worker });
    else await worker.end();
  }
}

const freeWorkers: { env: VideoTestEnvironment; key: string; worker: SharedWorker }[] = [];
/** Includes the workers of tests that timed out. */
const started = new Set<SharedWorker>();

// Registered on import, so it runs before the test file's own hook, which stops the server.
afterAll(() => Promise.all([...started].map((worker) => worker.end())));

class SharedWorker {
  private readonly taskQueue = `test-${randomUUID()}`;
  /** Jobs that were started or ran an activity since the tools were replaced. */
  private readonly jobs = new Set<string>();
  private readonly attempts = new Set<Promise<unknown>>();
  private isOver = false;
  private running: { worker: VideoWorker; end: Promise<void> } | undefined;

  private constructor(
    private readonly env: VideoTestEnvironment,
    private tools: WorldTools,
    private readonly hasCaps: boolean,
  ) {}

  static async start(
    env: VideoTestEnvironment,
    tools: WorldTools,
    { onLostSubmit, largestVideoBytes, caps, worker: options }: WorkerKind,
  ): Promise<SharedWorker> {
    const shared = new SharedWorker(env, tools, caps !== undefined);
    const rateLimiter = ofNow(() => shared.tools.rateLimiter);
    const worker = await env.createWorker({
      taskQueue: shared.taskQueue,
      onLostSubmit,
      largestVideoBytes,
      caps,
      service: ofNow(() => shared.tools.service),
      storage: ofNow(() => shared.storage()),
      rateLimiters: { of: () => rateLimiter },
      worker: {
        ...quickWorkflows(),
        ...options,
        interceptors: {
          ...options?.interceptors,
          activity: [...(options?.interceptors?.activity ?? []), redirectSubmits, shared.recordJobs],
        },
      },
    });
    shared.running = { worker, end: worker.run() };
    started.add(shared);
    shared.recordStarts();
    return shared;
  }

  async use<T>(tools: WorldTools, work: (taskQueue: string) => Promise<T>): Promise<T> {
    const { rateLimiter } = this.tools;
    this.tools = tools;
    // Who waits for it asks the new one.
    if (rateLimiter !== tools.rateLimiter) rateLimiter.turnOff();
    this.isOver = false;
    try {
      // A worker that dies fails the test that uses it.
      const died = this.running?.end.then(() => Promise.reject(new Error('the worker has ended')));
      return await Promise.race([work(this.taskQueue), ...(died ? [died] : [])]);
    } finally {
      await this.endJobs();
    }
  }

  async end(): Promise<void> {
    started.delete(this);
    this.running?.worker.shutdown();
    await this.running?.end;
  }

  /** A job that a test leaves open would continue with the tools of the next test. */
  private async endJobs(): Promise<void> {
    const { workflow } = this.env.temporal.client;
    for (const id of this.jobs) {
      await workflow
        .getHandle(id)
        .terminate('the test is over')
        .catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
    }
    this.jobs.clear();
    this.isOver = true;
    await Promise.allSettled(this.attempts);
  }

  /** A job that no worker has seen yet must not begin with the tools of the next test. */
  private recordStarts(): void {
    const { interceptors } = this.env.temporal.client.workflow.options;
    if (!Array.isArray(interceptors)) throw new Error('the client of the test has no list of interceptors');
    const add = ({ workflowId, taskQueue }: { workflowId: string; taskQueue: string }) => {
      if (taskQueue === this.taskQueue) this.jobs.add(workflowId);
    };
    const recorder: WorkflowClientInterceptor = {
      startWithDetails: (input, next) => {
        add(input.options);
        return next(input);
      },
      startUpdateWithStart: (input, next) => {
        add(input.workflowStartOptions);
        return next(input);
      },
    };
    interceptors.push(recorder);
  }

  private readonly recordJobs: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        if (info.workflowExecution) this.jobs.add(info.workflowExecution.workflowId);
        // The worker's own client starts it.
        if (this.hasCaps) this.jobs.add(ledgerIdOf(this.taskQueue));
        const attempt = next(input);
        this.attempts.add(attempt);
        return attempt.finally(() => this.attempts.delete(attempt));
      },
    },
  });

  /** A job that a command started is not known here until its first activity, when its folder may be gone. */
  private storage(): VideoStorage {
    if (this.isOver) throw new Error('the test is over');
    return this.tools.storage;
  }
}

/** Always the tool of the test that uses the worker now. */
function ofNow<Tool extends object>(tool: () => Tool): Tool {
  return new Proxy(tool(), {
    get(_, name) {
      const now = tool();
      const value: unknown = Reflect.get(now, name);
      return typeof value === 'function' ? value.bind(now) : value;
    },
  });
}

/** Our workflows for a worker that need not bundle them. */
export function quickWorkflows(): { workflowBundle: { codePath: string } } {
  return { workflowBundle: { codePath: bundlePath() } };
}

/** The bundle of the workflows, which the global setup makes once per run. */
export function bundlePath(): string {
  const path = process.env.VIDEOGEN_TEST_BUNDLE;
  if (!path) throw new Error('VIDEOGEN_TEST_BUNDLE is not set: the global setup did not run.');
  return path;
}
