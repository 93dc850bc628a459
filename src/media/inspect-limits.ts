import { workerData } from 'node:worker_threads';

/** A complete video takes some hundredths of this, and the longest retained transport stream a third. */
const MAX_CPU_MS = 700;
/** The process takes 60 MiB at its start and 30 for the retained bytes of the largest file; the rest is for its tables. */
const MAX_RSS_BYTES = 256 * 1024 * 1024;
const CHECK_EVERY_MS = 10;

/**
 * A thread that kills its process when an inspection takes too much. It measures processor time, so that a busy machine
 * does not fail a good video, and all memory, because V8 can only limit its heap.
 */
function watch(current: Int32Array): never {
  for (;;) {
    Atomics.wait(current, 0, 0);
    const inspection = Atomics.load(current, 0);
    const startedAtMs = cpuMs();
    while (inspection !== 0 && Atomics.load(current, 0) === inspection) {
      if (cpuMs() - startedAtMs > MAX_CPU_MS || process.memoryUsage.rss() > MAX_RSS_BYTES) {
        process.kill(process.pid, 'SIGKILL');
      }
      Atomics.wait(current, 0, inspection, CHECK_EVERY_MS);
    }
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

watch(workerData);
