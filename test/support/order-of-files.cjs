const { createHash } = require('node:crypto');
const { relative } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;
const { lastRun, ROOT } = require('./last-run.cjs');
const { LONGEST_SECONDS } = require('./long-files.cjs');

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
