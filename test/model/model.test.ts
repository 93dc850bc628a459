import { atLength } from '../support/nightly';
import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { REPLAY } from '../support/seed';
import type { BatchPerformance } from './batch-stage';
import { BATCH_CASES, CASES } from './cases';
import { compare } from './compare';
import { compareBatch } from './compare-batch';
import { BATCHES, JOBS, runScripts } from './run-scripts';
import type { Performance } from './stage';
import { theatreOfFile } from './theatre-of-file';

/** `npm run model` sets other numbers, and prints how far it is. */
const asked = process.env.VIDEOGEN_MODEL_SCRIPTS;
const JOB_SCRIPTS = Number(asked || atLength(40, 1_000));
const BATCH_SCRIPTS = Number(process.env.VIDEOGEN_MODEL_BATCHES || atLength(3, 20));
const PRINT_EVERY_MS = 5_000;
/** For each script, on a machine with much else to do. */
const PATIENCE_MS = 500;

const theatre = theatreOfFile();

test.each([
  ['jobs', JOBS, JOB_SCRIPTS],
  ['batches', BATCHES, BATCH_SCRIPTS],
] as const)(
  `%s do what the model allows, whatever happens to them (${REPLAY})`,
  async (_name, kind, scripts) => {
    const { seed = 0 } = fc.readConfigureGlobal();
    const options = { scripts, seed, onProgress: printer(scripts) };
    // Each kind has types of its own.
    const report = await (kind === JOBS
      ? runScripts(theatre(), JOBS, options)
      : runScripts(theatre(), BATCHES, options));
    const { failure, ...counts } = report;
    if (asked) process.stderr.write(`${JSON.stringify(counts)}\n`);
    expect(failure).toBeUndefined();
    expect(counts.played).toBe(scripts);
    // Otherwise nothing was carried over.
    expect(counts.runs).toBeGreaterThan(counts.played * 1.5);
  },
  300_000 + (JOB_SCRIPTS + BATCH_SCRIPTS * 10) * PATIENCE_MS,
);

/** With many scripts they are not played again. */
const describeUnlessAsked = asked ? describe.skip : describe;

describeUnlessAsked('the model allows what happens', () => {
  let jobs: Performance[];
  let batches: BatchPerformance[];
  beforeAll(async () => {
    jobs = await theatre().play(CASES.map(({ script }) => script));
    batches = await theatre().playBatches(BATCH_CASES.map(({ script }) => script));
  });

  test.each(CASES.map(({ name }, index) => ({ name, index })))('when $name', ({ index }) => {
    expect(jobs.slice(index, index + 1).map(compare)).toEqual([[]]);
  });

  test.each(BATCH_CASES.map(({ name }, index) => ({ name, index })))('to a batch when $name', ({ index }) => {
    expect(batches.slice(index, index + 1).map(compareBatch)).toEqual([[]]);
  });
});

function printer(scripts: number): ((played: number) => void) | undefined {
  if (!asked) return undefined;
  const startedAtMs = Date.now();
  let printedAtMs = 0;
  return (played) => {
    if (Date.now() - printedAtMs < PRINT_EVERY_MS) return;
    printedAtMs = Date.now();
    const seconds = (printedAtMs - startedAtMs) / 1_000;
    const processorSeconds = processorMs() / 1_000;
    process.stderr.write(
      `${played} of ${scripts} scripts, ${(played / seconds).toFixed(1)} a second, ${processorSeconds.toFixed(0)} s of processor time\n`,
    );
  };
}
