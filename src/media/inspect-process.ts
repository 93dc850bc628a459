import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { readOrders } from './inspect-order';
import { inspectVideo } from './inspect-video';
import { KeptReader } from './kept-reader';

/**
 * A process that looks at videos, one after the other: orders come on stdin, a line of JSON goes to stdout for each.
 * It ends with its stdin, so with whoever started it.
 */
async function main(): Promise<void> {
  const looking = new Int32Array(new SharedArrayBuffer(4));
  // The same file in the sources and in the build, each in its own language.
  new Worker(join(__dirname, `inspect-limits${extname(__filename)}`), { workerData: looking }).unref();
  // Ctrl-C goes to every process of a terminal; whoever waits for a look decides when there is to be none.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  let looks = 0;
  const mark = (look: number) => {
    Atomics.store(looking, 0, look);
    Atomics.notify(looking, 0);
  };
  process.stdout.write('ready\n');
  for await (const { container, size, ranges } of readOrders(process.stdin)) {
    mark(++looks);
    const look = await inspectVideo(new KeptReader(ranges, size), container);
    mark(0);
    process.stdout.write(`${JSON.stringify(look)}\n`);
  }
}

main().then(
  () => process.exit(),
  (error) => {
    process.stderr.write(`${error}\n`);
    process.exit(1);
  },
);
