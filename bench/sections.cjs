/**
 * The sections of `npm run bench`. Each script runs in a process of its own and writes what it measured to the file after
 * `--json`; `read` makes rows of it where the script has a command and a format of its own. The scripts of one section give
 * it rows in their order. A script that takes longer than its limit is stopped: the limits are about five times what 2 idle cores need, for a slow hour of a shared machine.
 */
const readings = require('./readings.cjs');

/** Scripts that were written for this command take `--quick` themselves. */
const QUICK = { args: ['--quick'] };

exports.SECTIONS = [
  { section: 'a', scripts: [{ file: 'polls.cjs', limitSeconds: 300, read: readings.readPolls }] },
  { section: 'b', scripts: [{ file: 'quota.cjs', limitSeconds: 1_500, quick: QUICK }] },
  {
    section: 'c',
    scripts: [
      {
        file: 'throughput.cjs',
        limitSeconds: 600,
        full: { env: { ROUNDS: '2' } },
        quick: { env: { ROUNDS: '1', JOBS: '10', BATCHES: '1', ITEMS: '10' } },
        read: readings.readThroughput,
      },
      { file: 'peers.cjs', limitSeconds: 500, quick: QUICK },
    ],
  },
  { section: 'd', scripts: [{ file: 'overhead.cjs', limitSeconds: 600, quick: QUICK }] },
  { section: 'e', scripts: [{ file: 'download.cjs', limitSeconds: 400, quick: QUICK }] },
  {
    section: 'f',
    scripts: [
      {
        file: 'start.cjs',
        limitSeconds: 400,
        full: { env: { RUNS: '2' } },
        quick: { env: { RUNS: '1' } },
        read: readings.readStart,
      },
    ],
  },
  {
    section: 'g',
    scripts: [
      {
        file: 'waiting-jobs.cjs',
        limitSeconds: 1_800,
        full: { args: ['--jobs', '1000,10000', '--seconds', '600'] },
        quick: { args: ['--jobs', '50', '--seconds', '20'] },
        read: readings.readWaitingJobs,
      },
    ],
  },
  {
    section: 'h',
    // It counts events, and (g) measures memory and processor time: neither depends on how busy the machine is.
    runsBeside: true,
    scripts: [{ file: 'polls-cost.cjs', limitSeconds: 900, read: readings.readPollsCost }],
  },
];
