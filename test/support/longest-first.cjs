const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');

/** Seconds on two cores of what takes longest, for a machine that has not run the tests before. */
const LONG = {
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

/** Long files first: one that begins last would be waited for alone. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const ms = new Map(lastRun().map((file) => [file.file, file.ms]));
    const msOf = ({ path }) => {
      const file = relative(ROOT, path);
      return ms.get(file) ?? (LONG[file] ?? 0) * 1_000;
    };
    const bySize = super.sort(tests);
    return [...bySize].sort((a, b) => msOf(b) - msOf(a));
  }
};
