const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname, relative } = require('node:path');
const { forgetProcessorTimes, LAST_RUN, processorTimes, ROOT } = require('./last-run.cjs');

/** Writes down how long each file and each test took, for `npm run test:slow` and for the order of the next run. */
module.exports = class TimesReporter {
  files = [];

  onRunStart() {
    forgetProcessorTimes();
  }

  onTestFileResult(_test, { testFilePath, perfStats, testResults }) {
    this.files.push({
      file: relative(ROOT, testFilePath),
      ms: perfStats.runtime,
      tests: testResults.map(({ fullName, duration }) => ({ name: fullName, ms: duration ?? 0 })),
    });
  }

  onRunComplete() {
    const processorMs = processorTimes();
    const files = this.files.map((one) => ({ ...one, processorMs: processorMs.get(one.file) ?? 0 }));
    mkdirSync(dirname(LAST_RUN), { recursive: true });
    writeFileSync(LAST_RUN, JSON.stringify(files));
  }
};
