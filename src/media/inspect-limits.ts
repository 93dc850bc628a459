import { workerData } from 'node:worker_threads';

/** A look at a whole video takes some hundredths of this, and a third at the longest transport stream that is kept. */
const MOST_CPU_MS = 700;
/** The process as it starts takes 60 MiB, what is kept of the largest file 30; the rest is for its tables. */
const MOST_RSS_BYTES = 256 * 1024 * 1024;
const CHECK_EVERY_MS = 10;

/**
 * A thread that ends its process when a look takes too much. It counts processor time and not the clock's, so that a
 * machine that is busy with other things makes no video a bad one, and it counts all memory, of which the heap that V8
 * can bound is only a part.
 */
function watch(looking: Int32Array): never {
  for (;;) {
    Atomics.wait(looking, 0, 0);
    const look = Atomics.load(looking, 0);
    const begun = cpuMs();
    while (look !== 0 && Atomics.load(looking, 0) === look) {
      if (cpuMs() - begun > MOST_CPU_MS || process.memoryUsage.rss() > MOST_RSS_BYTES) {
        process.kill(process.pid, 'SIGKILL');
      }
      Atomics.wait(looking, 0, look, CHECK_EVERY_MS);
    }
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

watch(workerData);
