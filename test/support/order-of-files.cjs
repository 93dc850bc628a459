const { createHash } = require('node:crypto');
const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');

/** The longest files and their seconds on two cores, for a machine without a last run. */
const LONGEST_SECONDS = {
  'test/real-server/one-job.test.ts': 95,
  'test/real-server/cli.test.ts': 85,
  'test/real-server/batch.test.ts': 85,
  'test/real-server/crashes.test.ts': 70,
  'test/real-server/chaos.test.ts': 60,
  'test/real-server/downloads.test.ts': 50,
  'test/package/installed.test.ts': 50,
  'test/real-server/one-batch.test.ts': 50,
  'test/real-server/doors.test.ts': 42,
  'test/real-server/cli-stack.test.ts': 42,
  'test/real-server/cli-workers.test.ts': 40,
  'test/real-server/cancellation.test.ts': 38,
  'test/model/model.test.ts': 60,
  'test/real-server/examples.test.ts': 37,
  'test/real-server/resets.test.ts': 36,
  'test/real-server/versioning.test.ts': 35,
  'test/time-skipping/generate-videos.test.ts': 35,
  'test/real-server/forgotten.test.ts': 30,
  'test/real-server/large-requests.test.ts': 28,
  'test/time-skipping/testing-page.test.ts': 27,
  'test/fuzz/fuzz.test.ts': 37,
  'test/storage/s3-storage.test.ts': 24,
  'test/plugin/bundle.test.ts': 18,
  'test/media/passing-video.test.ts': 15,
  'test/activities/download/hostile-downloads.test.ts': 15,
  'test/activities/other-services.test.ts': 13,
  'test/workflows/batch/carried-items.test.ts': 13,
};

/**
 * Starts long files first: the run would wait for a long file that starts last. With VIDEOGEN_TEST_ORDER, in another order for
 * each of its values: what a file leaves behind in its process then meets other files.
 */
module.exports = class OrderOfFiles extends Sequencer {
  sort(tests) {
    const { VIDEOGEN_TEST_ORDER: order } = process.env;
    if (order) {
      const rank = ({ path }) =>
        createHash('sha256').update(order).update(relative(ROOT, path)).digest('hex');
      return [...tests].sort((a, b) => rank(a).localeCompare(rank(b)));
    }
    const ms = new Map(lastRun().map((file) => [file.file, file.ms]));
    const msOf = ({ path }) => {
      const file = relative(ROOT, path);
      return ms.get(file) ?? (LONGEST_SECONDS[file] ?? 0) * 1_000;
    };
    const bySize = super.sort(tests);
    return [...bySize].sort((a, b) => msOf(b) - msOf(a));
  }
};
