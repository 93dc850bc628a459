/**
 * The sections of `npm run bench`. Each script runs in a process of its own, prints its table and writes its rows to the
 * file after `--json`. Several scripts of one section give it rows in their order. The limits are for 2 cores that do
 * nothing else; the whole run takes about 12 min.
 */
exports.SECTIONS = [
  { section: 'a', scripts: ['polls.cjs'], limitSeconds: 60 },
  { section: 'b', scripts: ['quota.cjs'], limitSeconds: 180 },
  { section: 'c', scripts: ['throughput.cjs', 'peers.cjs'], limitSeconds: 240 },
  { section: 'd', scripts: ['overhead.cjs'], limitSeconds: 90 },
  { section: 'e', scripts: ['download.cjs'], limitSeconds: 120 },
  { section: 'f', scripts: ['start.cjs'], limitSeconds: 60 },
  { section: 'g', scripts: ['waiting-jobs.cjs'], limitSeconds: 300 },
  { section: 'h', scripts: ['polls-cost.cjs'], limitSeconds: 120 },
];
