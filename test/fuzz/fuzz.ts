import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { collectGarbage } from '../support/collect-garbage';
import { fc } from '../support/properties';
import { judge } from './judge';
import type { Target } from './target';

/** How long a finding is made smaller. */
const SHRINK_MS = 30_000;
const GARBAGE_EVERY = 200;

interface FuzzOptions {
  name: string;
  seed: number;
  /** Of a round. Each has a seed of its own, to repeat it alone. */
  runs: number;
  /** No round begins after this, but for the first. */
  untilMs: number;
}

interface FuzzReport {
  runs: number;
  refused: number;
  /** The first finding, as small as it could be made, as a case to paste. */
  finding?: string;
}

/** Opens a target with a folder of its own, for as long as the work takes. */
export async function withTarget<Input, T>(
  target: Target<Input>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'videogen-fuzz-')));
  try {
    await target.open?.();
    // It loads modules, which takes long.
    await target.feed(target.plain, folder);
    for (let warmUp = 0; warmUp < 2; warmUp++) await judge(target, target.plain, folder);
    return await work(folder);
  } finally {
    await target.close?.();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Feeds a target until something is found or the time ends. */
export async function fuzz<Input>(
  target: Target<Input>,
  folder: string,
  { name, seed, runs, untilMs }: FuzzOptions,
): Promise<FuzzReport> {
  const watchdog = startWatchdog(`the target ${name} with the seed ${seed}`);
  let tried = 0;
  let refused = 0;
  let seedOfRound = seed;
  let smallest: { input: Input; problems: string[] } | undefined;
  let shrinkUntilMs = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(target.inputs, async (input) => {
    if (Date.now() > shrinkUntilMs) return true;
    watchdog.next();
    if (smallest === undefined && tried++ % GARBAGE_EVERY === 0) collectGarbage();
    const { problems, ...verdict } = await judge(target, input, folder);
    if (verdict.refused) refused++;
    if (problems.length === 0) return true;
    if (smallest === undefined) shrinkUntilMs = Date.now() + SHRINK_MS;
    smallest = { input, problems };
    return false;
  });
  try {
    await fc.check(property, { seed, numRuns: runs });
    while (smallest === undefined && Date.now() < untilMs)
      await fc.check(property, { seed: ++seedOfRound, numRuns: runs });
  } finally {
    await watchdog.stop();
  }
  return { runs: tried, refused, ...(smallest && { finding: describeFinding(name, seedOfRound, smallest) }) };
}

function describeFinding(
  target: string,
  seed: number,
  { input, problems }: { input: unknown; problems: string[] },
): string {
  return [
    `${target} with the seed ${seed}, as a case for test/fuzz/fuzz.test.ts:`,
    ...problems.slice(0, 5).map((problem) => `  // ${problem.replaceAll('\n', '\n  // ')}`),
    `  { target: '${target}', name: '', input: ${fc.stringify(input)} },`,
  ].join('\n');
}

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
function startWatchdog(name: string) {
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
