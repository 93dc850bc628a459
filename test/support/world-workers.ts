import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import type { LostSubmitPolicy } from '../../src/contract';
import { RateLimiter, type VideoService } from '../../src/service';
import type { VideoStorage } from '../../src/storage';
import type { VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker } from '../../src/worker/video-worker';

/** What the activities of a worker work with while a world has it. */
export interface WorldTools {
  service: VideoService;
  storage: VideoStorage;
  rateLimiter: RateLimiter;
}

interface WorkerKind {
  onLostSubmit?: LostSubmitPolicy;
  worker?: Partial<WorkerOptions>;
}

/**
 * Runs a test on a worker that has these tools and no others. A worker takes a second to start and to warm up, so
 * one that is free is given new tools. It comes back with no job of the test still open.
 */
export async function onWorker<T>(
  env: VideoTestEnvironment,
  tools: WorldTools,
  kind: WorkerKind,
  work: (taskQueue: string) => Promise<T>,
): Promise<T> {
  const key = JSON.stringify([kind.onLostSubmit, tools.service.profile?.requestFields]);
  const isShared = kind.worker === undefined;
  const free = isShared ? freeWorkers.get(env)?.get(key)?.pop() : undefined;
  const worker = free ?? (await SwappedWorker.start(env, tools, kind));
  try {
    return await worker.use(tools, work);
  } finally {
    if (isShared) keepFree(env, key, worker);
    else await worker.end();
  }
}

const freeWorkers = new WeakMap<VideoTestEnvironment, Map<string, SwappedWorker[]>>();
/** Those of tests that ran out of time, too. */
const started = new Set<SwappedWorker>();

function keepFree(env: VideoTestEnvironment, key: string, worker: SwappedWorker): void {
  const kinds = freeWorkers.get(env) ?? new Map<string, SwappedWorker[]>();
  freeWorkers.set(env, kinds.set(key, [...(kinds.get(key) ?? []), worker]));
}

// Registered when a test file imports this, so before its own, which ends the server.
afterAll(() => Promise.all([...started].map((worker) => worker.end())));

class SwappedWorker {
  private readonly rateLimiter: SwappedGate;
  private readonly taskQueue = `test-${randomUUID()}`;
  /** Jobs that had an activity done since the tools were changed. */
  private readonly jobs = new Set<string>();
  private readonly underWay = new Set<Promise<unknown>>();
  private running: { worker: VideoWorker; end: Promise<void> } | undefined;

  private constructor(
    private readonly env: VideoTestEnvironment,
    private tools: WorldTools,
  ) {
    this.rateLimiter = new SwappedGate(tools.rateLimiter);
  }

  static async start(
    env: VideoTestEnvironment,
    tools: WorldTools,
    { onLostSubmit, worker: options }: WorkerKind,
  ): Promise<SwappedWorker> {
    const swapped = new SwappedWorker(env, tools);
    const worker = await env.createWorker({
      taskQueue: swapped.taskQueue,
      onLostSubmit,
      service: swapped.service(),
      storage: swapped.storage(),
      rateLimiter: swapped.rateLimiter,
      worker: {
        workflowBundle: { codePath: bundlePath() },
        ...options,
        interceptors: {
          ...options?.interceptors,
          activity: [...(options?.interceptors?.activity ?? []), swapped.noteJobs],
        },
      },
    });
    swapped.running = { worker, end: worker.run() };
    started.add(swapped);
    return swapped;
  }

  async use<T>(tools: WorldTools, work: (taskQueue: string) => Promise<T>): Promise<T> {
    this.tools = tools;
    this.rateLimiter.swap(tools.rateLimiter);
    try {
      // A worker that dies fails the test that has it.
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

  /** What a test leaves open would go on with the tools of the next one. */
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
    await Promise.allSettled(this.underWay);
  }

  private readonly noteJobs: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        if (info.workflowExecution) this.jobs.add(info.workflowExecution.workflowId);
        const attempt = next(input);
        this.underWay.add(attempt);
        return attempt.finally(() => this.underWay.delete(attempt));
      },
    },
  });

  private service(): VideoService {
    const tools = () => this.tools;
    return {
      get profile() {
        return tools().service.profile;
      },
      submit: (...given) => tools().service.submit(...given),
      poll: (...given) => tools().service.poll(...given),
      openVideo: (...given) => tools().service.openVideo(...given),
      cancel: (...given) => tools().service.cancel(...given),
      close: async () => undefined,
    };
  }

  private storage(): VideoStorage {
    const tools = () => this.tools;
    return {
      receive: (...given) => tools().storage.receive(...given),
      write: (...given) => tools().storage.write(...given),
      read: (...given) => tools().storage.read(...given),
      readPart: async (...given) => tools().storage.readPart?.(...given),
      probe: async (...given) => tools().storage.probe?.(...given),
      sweep: async (...given) => tools().storage.sweep?.(...given) ?? 0,
    };
  }
}

/** Each world has limits and a skipped time of its own, while the worker of all of them waits for one rate limiter. */
class SwappedGate extends RateLimiter {
  private readonly waiting = new Set<() => void>();
  private stopListening: () => void;

  constructor(private current: RateLimiter) {
    super();
    this.stopListening = current.onChange(() => this.tell());
  }

  swap(rateLimiter: RateLimiter): void {
    this.stopListening();
    this.current = rateLimiter;
    this.stopListening = rateLimiter.onChange(() => this.tell());
    this.tell();
  }

  override followServerClock(server: object, readClock: () => Promise<number>): Promise<void> {
    return this.current.followServerClock(server, readClock);
  }

  override acquire(...given: Parameters<RateLimiter['acquire']>): ReturnType<RateLimiter['acquire']> {
    return this.current.acquire(...given);
  }

  override submitAllowance(): number {
    return this.current.submitAllowance();
  }

  override recordTaskEnd(): void {
    this.current.recordTaskEnd();
  }

  override onChange(callback: () => void): () => void {
    const listener = () => callback();
    this.waiting.add(listener);
    return () => void this.waiting.delete(listener);
  }

  override untilNextChangeMs(): number | undefined {
    return this.current.untilNextChangeMs();
  }

  private tell(): void {
    for (const listener of [...this.waiting]) listener();
  }
}

/** The workflows, bundled once for the whole run by the global setup. */
export function bundlePath(): string {
  const path = process.env.VIDEOGEN_TEST_BUNDLE;
  if (!path) throw new Error('VIDEOGEN_TEST_BUNDLE is not set: the global setup did not run.');
  return path;
}
