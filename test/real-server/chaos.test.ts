import { runChaos } from '../chaos/chaos-run';

const SEED = 'fox';
const JOBS = 30;
const LENGTH_MS = 40_000;

test(`${JOBS} videos while all programs are killed and frozen, and lines and disks fail: none is lost, paid twice or left behind`, async () => {
  const report = await runChaos({
    seed: SEED,
    jobs: JOBS,
    lengthMs: LENGTH_MS,
    workers: 2,
    gateways: 1,
    temporalCli: process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
  });
  const { flaws, lost, paidTwice, corrupt, leftBehind, table } = report;
  expect(flaws).toEqual([]);
  expect({ lost, paidTwice, corrupt, leftBehind }).toEqual({
    lost: 0,
    paidTwice: 0,
    corrupt: 0,
    leftBehind: 0,
  });
  // Without these it would show nothing.
  expect(table['kills of a worker after a POST']).toBeGreaterThan(0);
  expect(table.decisions).toBeGreaterThan(0);
}, 300_000);
