const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');

/** The longest files and their seconds on two cores, for a machine without a last run. */
const LONGEST_SECONDS = {
  'test/real-server/cli.test.ts': 120,
  'test/package/installed.test.ts': 90,
  'test/real-server/crashes.test.ts': 60,
  'test/real-server/chaos.test.ts': 50,
  'test/real-server/batch.test.ts': 50,
  'test/time-skipping/hostile-downloads.test.ts': 40,
  'test/real-server/examples.test.ts': 40,
  'test/real-server/one-job.test.ts': 40,
  'test/real-server/forgotten-batch.test.ts': 40,
  'test/real-server/doors.test.ts': 35,
};

/** Starts long files first: the run would wait for a long file that starts last. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const ms = new Map(lastRun().map((file) => [file.file, file.ms]));
    const msOf = ({ path }) => {
      const file = relative(ROOT, path);
      return ms.get(file) ?? (LONGEST_SECONDS[file] ?? 0) * 1_000;
    };
    const bySize = super.sort(tests);
    return [...bySize].sort((a, b) => msOf(b) - msOf(a));
  }
};
