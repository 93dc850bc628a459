/**
 * What every peer is given and prints. It gets its options as JSON in its only argument, runs the same job as ours (bare
 * HTTP calls, a poll after each second, a file) as often as `counts` says, all jobs of a count at once, and prints one line
 * of JSON: the seconds of each count.
 */
const { bareActivities } = require('../bare/activities.cjs');

exports.POLL_EVERY_MS = 1_000;

exports.readOptions = () => {
  const options = JSON.parse(process.argv[2]);
  return { ...options, activities: bareActivities(options) };
};

/** `runOne` gets a name that no other job has. */
exports.runCounts = async (counts, runOne) => {
  const seconds = [];
  for (const [round, count] of counts.entries()) {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: count }, (_, index) => runOne(`fox-${round}-${index}`)));
    seconds.push((performance.now() - startedAt) / 1_000);
  }
  process.stdout.write(`${JSON.stringify({ seconds })}\n`, () => process.exit());
};

exports.fail = (error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
};
