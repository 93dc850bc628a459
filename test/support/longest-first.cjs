const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');

/** The longest files and their seconds on two cores, for a machine without a last run. */
const LONGEST_SECONDS = {
  'test/package/installed.test.ts': 60,
  'test/real-server/batch.test.ts': 95,
  'test/real-server/crashes.test.ts': 65,
  'test/real-server/cli.test.ts': 60,
  'test/real-server/cli-stack.test.ts': 60,
  'test/real-server/one-job.test.ts': 60,
  'test/real-server/doors.test.ts': 60,
  'test/real-server/chaos.test.ts': 55,
  'test/real-server/downloads.test.ts': 45,
  'test/real-server/one-batch.test.ts': 45,
  'test/real-server/examples.test.ts': 40,
  'test/real-server/resets.test.ts': 40,
  'test/real-server/cli-workers.test.ts': 25,
  'test/model/model.test.ts': 60,
  'test/real-server/large-requests.test.ts': 35,
  'test/time-skipping/testing-page.test.ts': 35,
  'test/fuzz/fuzz.test.ts': 35,
  'test/time-skipping/generate-videos.test.ts': 35,
  'test/real-server/forgotten.test.ts': 30,
  'test/real-server/cancellation.test.ts': 30,
  'test/real-server/versioning.test.ts': 30,
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
