import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerLife } from './chaos-plan';
import type { WorkerProcess } from './worker-process';

export interface Kills {
  /** The times of the kills. */
  readonly atMs: readonly number[];
  /** The output of workers that ended without a kill. */
  readonly diedAlone: readonly string[];
  /** Resolves when the last kill is done and all workers are up again; rejects when a worker does not come up. */
  readonly over: Promise<void>;
}

export interface KillOptions {
  start: () => Promise<WorkerProcess>;
  /** How many POSTs have arrived so far. */
  posts: () => number;
  signal: AbortSignal;
}

/** The longest wait for a POST. */
const NEXT_POST_WITHIN_MS = 2_000;

/** Runs each worker through its lives, each ended by SIGKILL. The worker after the last life keeps running. */
export function killWorkers(
  lives: readonly (readonly WorkerLife[])[],
  { start, posts, signal }: KillOptions,
): Kills {
  const atMs: number[] = [];
  const diedAlone: string[] = [];

  const startWatched = async () => {
    const worker = await start();
    let killed = false;
    void worker.ended.then(() => {
      if (!killed && !signal.aborted) diedAlone.push(worker.output());
    });
    return () => {
      killed = true;
      atMs.push(Date.now());
      return worker.kill('SIGKILL');
    };
  };

  const nextPost = async () => {
    const before = posts();
    const until = Date.now() + NEXT_POST_WITHIN_MS;
    while (posts() === before && Date.now() < until) await sleep(5, undefined, { signal });
  };

  const live = async (ownLives: readonly WorkerLife[]) => {
    for (const { lifeMs, downMs, afterPostMs } of ownLives) {
      const kill = await startWatched();
      await sleep(lifeMs, undefined, { signal });
      if (afterPostMs !== undefined) {
        await nextPost();
        await sleep(afterPostMs, undefined, { signal });
      }
      await kill();
      await sleep(downMs, undefined, { signal });
    }
    await startWatched();
  };

  const over = Promise.all(lives.map(live)).then(
    () => undefined,
    (error: unknown) => {
      if (!signal.aborted) throw error;
    },
  );
  return { atMs, diedAlone, over };
}
