import { Worker } from 'node:worker_threads';
import { inspectVideo } from './inspect-video';
import { decodeRequests } from './inspection-request';
import { RetainedReader } from './retained-reader';

/**
 * A process that inspects one video after the other: requests come on stdin, and each gets a line of JSON on stdout. It
 * ends when its stdin ends, so when its parent does.
 */
async function main(): Promise<void> {
  const current = new Int32Array(new SharedArrayBuffer(4));
  new Worker(require.resolve('./inspect-limits'), { workerData: current }).unref();
  // Ctrl-C reaches every process of a terminal, but the parent decides when an inspection ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  let inspections = 0;
  const setCurrent = (inspection: number) => {
    Atomics.store(current, 0, inspection);
    Atomics.notify(current, 0);
  };
  process.stdout.write('ready\n');
  for await (const { container, size, ranges } of decodeRequests(process.stdin)) {
    setCurrent(++inspections);
    const inspection = await inspectVideo(new RetainedReader(ranges, size), container);
    setCurrent(0);
    process.stdout.write(`${JSON.stringify(inspection)}\n`);
  }
}

main().then(
  () => process.exit(),
  (error) => {
    process.stderr.write(`${error}\n`);
    process.exit(1);
  },
);
