import { atLength } from '../support/nightly';
import { fc } from '../support/properties';
import { REPLAY } from '../support/seed';
import type { BatchPerformance } from './batch-stage';
import { BATCH_CASES, CASES } from './cases';
import { compare } from './compare';
import { compareBatch } from './compare-batch';
import { silenceLogs } from './play';
import { Playhouse } from './playhouse';
import { BATCHES, JOBS, type RunReport, runShare } from './run-scripts';
import type { Performance } from './stage';

/** `npm run model` plays more, in as many processes as there are cores. */
const JOB_SCRIPTS = atLength(60, 1_000);
const BATCH_SCRIPTS = atLength(4, 20);
/** For each script, on a machine with much else to do. */
const PATIENCE_MS = 500;

let house: Playhouse;
beforeAll(async () => {
  silenceLogs();
  house = await Playhouse.open();
});
afterAll(() => house?.close());

/** Once more on a new server, if need be. */
const GROUP_TIMEOUT_MS = 300_000;

test.each<[string, number, (scripts: number) => Promise<RunReport>]>([
  ['jobs', JOB_SCRIPTS, (scripts) => runShare(house, JOBS, { seed: seed(), from: 0, scripts })],
  ['batches', BATCH_SCRIPTS, (scripts) => runShare(house, BATCHES, { seed: seed(), from: 0, scripts })],
])(
  `%s do what the model allows, whatever happens to them (${REPLAY})`,
  async (_name, scripts, run) => {
    const { failure, ...counts } = await run(scripts);
    expect(failure).toBeUndefined();
    expect(counts.played).toBe(scripts);
    // Otherwise nothing was carried over.
    expect(counts.runs).toBeGreaterThan(counts.played * 1.5);
  },
  GROUP_TIMEOUT_MS + (JOB_SCRIPTS + BATCH_SCRIPTS * 10) * PATIENCE_MS,
);

function seed(): number {
  return fc.readConfigureGlobal().seed ?? 0;
}

describe('the model allows what happens', () => {
  let jobs: Performance[];
  let batches: BatchPerformance[];
  beforeAll(async () => {
    jobs = await house.on((theatre) => theatre.play(CASES.map(({ script }) => script)));
    batches = await house.on((theatre) => theatre.playBatches(BATCH_CASES.map(({ script }) => script)));
  }, GROUP_TIMEOUT_MS);

  test.each(CASES.map(({ name }, index) => ({ name, index })))('when $name', ({ index }) => {
    expect(jobs.slice(index, index + 1).map(compare)).toEqual([[]]);
  });

  test.each(BATCH_CASES.map(({ name }, index) => ({ name, index })))('to a batch when $name', ({ index }) => {
    expect(batches.slice(index, index + 1).map(compareBatch)).toEqual([[]]);
  });
});
