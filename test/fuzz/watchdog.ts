import { Worker } from 'node:worker_threads';

/** No input takes this long, even on a machine with much else to do. */
const SILENT_AFTER_MS = 120_000;

/** In a thread of its own, because an endless loop blocks everything else. */
const SOURCE = `
const { workerData: { counter, name, silentAfterMs } } = require('node:worker_threads');
let last = -1;
setInterval(() => {
  const now = Atomics.load(counter, 0);
  if (now === last) {
    require('node:fs').writeSync(2, 'Input ' + now + ' of ' + name + ' does not end. Run it again with this seed.\\n');
    process.kill(process.pid, 'SIGKILL');
  }
  last = now;
}, silentAfterMs);
`;

/** Ends the process with a message when one input takes forever. */
export function startWatchdog(name: string) {
  const counter = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(SOURCE, {
    eval: true,
    workerData: { counter, name, silentAfterMs: SILENT_AFTER_MS },
  });
  return {
    next: () => Atomics.add(counter, 0, 1),
    stop: () => worker.terminate(),
  };
}
