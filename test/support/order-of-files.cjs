const { createHash } = require('node:crypto');
const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');

/** The longest files and their seconds on two cores, for a machine without a last run. */
const LONGEST_SECONDS = {
  'test/real-server/one-job.test.ts': 102,
  'test/real-server/cli.test.ts': 78,
  'test/real-server/crashes.test.ts': 75,
  'test/model/model.test.ts': 64,
  'test/real-server/encryption.test.ts': 64,
  'test/real-server/services.test.ts': 61,
  'test/real-server/chaos.test.ts': 60,
  'test/real-server/forgotten.test.ts': 54,
  'test/package/installed.test.ts': 50,
  'test/real-server/one-batch.test.ts': 49,
  'test/real-server/fallback.test.ts': 48,
  'test/real-server/downloads.test.ts': 47,
  'test/real-server/job-commands.test.ts': 46,
  'test/real-server/gateway.test.ts': 45,
  'test/real-server/gateway-page.test.ts': 44,
  'test/activities/faults.test.ts': 43,
  'test/retention/expire-videos.test.ts': 42,
  'test/real-server/batch.test.ts': 39,
  'test/real-server/cli-workers.test.ts': 39,
  'test/real-server/examples.test.ts': 37,
  'test/real-server/resets.test.ts': 36,
  'test/real-server/after-the-video.test.ts': 35,
  'test/time-skipping/generate-videos.test.ts': 35,
  'test/real-server/versioning.test.ts': 35,
  'test/real-server/cancellation.test.ts': 34,
  'test/real-server/costs.test.ts': 33,
  'test/real-server/doors.test.ts': 32,
  'test/real-server/monitor.test.ts': 31,
  'test/real-server/ai-sdk-model.test.ts': 31,
  'test/time-skipping/fallback.test.ts': 31,
  'test/time-skipping/lost-submits.test.ts': 31,
  'test/plugin/bundle.test.ts': 31,
  'test/real-server/decisions.test.ts': 30,
  'test/time-skipping/generate-video.test.ts': 27,
  'test/time-skipping/testing-page.test.ts': 27,
  'test/real-server/cli-stack.test.ts': 26,
  'test/gateway/hardening.test.ts': 26,
  'test/ai-sdk/providers/whole-jobs.test.ts': 24,
  'test/real-server/change-key.test.ts': 24,
  'test/real-server/ui-details.test.ts': 23,
  'test/scripts/compile.test.ts': 23,
  'test/real-server/search-attributes.test.ts': 23,
  'test/time-skipping/troubleshooting.test.ts': 23,
  'test/real-server/gateway-limits.test.ts': 23,
  'test/real-server/traces.test.ts': 22,
  'test/real-server/retry-afresh.test.ts': 21,
  'test/real-server/caps.test.ts': 21,
  'test/real-server/other-languages.test.ts': 21,
  'test/real-server/queues.test.ts': 21,
  'test/real-server/nexus.test.ts': 20,
  'test/storage/s3-storage.test.ts': 20,
  'test/package/tarball.test.ts': 20,
  'test/ai-sdk/providers/calls.test.ts': 20,
  'test/real-server/large-requests.test.ts': 20,
  'test/activities/download/hostile-downloads.test.ts': 19,
  'test/gateway/images.test.ts': 18,
  'test/time-skipping/slow-test-server.test.ts': 17,
  'test/fuzz/fuzz.test.ts': 16,
  'test/time-skipping/webhooks.test.ts': 16,
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
