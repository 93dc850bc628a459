import type { Worker } from '@temporalio/worker';

/** One that ends takes the others with it: half a worker would leave jobs waiting without a word. */
export async function runTogether(workers: readonly Worker[]): Promise<void> {
  await untilAllEnded(workers.map((worker) => worker.run().finally(() => shutDown(workers))));
}

/** Runs the others while the given one runs, which is told to end when one of them does. */
export async function runBeside(
  worker: Worker,
  running: Promise<void>,
  createOthers: () => Promise<Worker[]>,
): Promise<void> {
  let others: Worker[] = [];
  let isOver = false;
  const endOthers = () => {
    isOver = true;
    shutDown(others);
  };
  const runOthers = async () => {
    others = await createOthers();
    const ended = runTogether(others);
    if (isOver) shutDown(others);
    await ended;
  };
  await untilAllEnded([running.finally(endOthers), runOthers().finally(() => shutDown([worker]))]);
}

export function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** Rejects with the first failure, and not before everything has ended. */
async function untilAllEnded(running: Promise<void>[]): Promise<void> {
  try {
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}
