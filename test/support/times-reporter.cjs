const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname, relative } = require('node:path');
const { LAST_RUN, ROOT } = require('./last-run.cjs');

/** Stores the time of each file and test, for `npm run test:slow` and for the order of the next run. */
module.exports = class TimesReporter {
  files = [];

  onTestFileResult(_test, { testFilePath, perfStats, testResults }) {
    this.files.push({
      file: relative(ROOT, testFilePath),
      ms: perfStats.runtime,
      tests: testResults.map(({ fullName, duration }) => ({ name: fullName, ms: duration ?? 0 })),
    });
  }

  onRunComplete() {
    mkdirSync(dirname(LAST_RUN), { recursive: true });
    writeFileSync(LAST_RUN, JSON.stringify(this.files));
  }
};
