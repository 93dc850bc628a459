/** As test/support/nightly.ts marks it. */
const AT_NIGHT = '(at night)';

/** Ends a run with what ran, what did not and why. A test that is skipped for another reason fails the run. */
module.exports = class ClosingLines {
  constructor({ testNamePattern }, { filesAtNight }) {
    this.isPart = Boolean(testNamePattern);
    this.filesAtNight = filesAtNight;
  }

  onRunComplete(_contexts, { testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const notRun = testResults
      .flatMap((file) => file.testResults)
      .filter(({ status }) => status !== 'passed' && status !== 'failed');
    const atNight = notRun.filter(({ fullName }) => fullName.includes(AT_NIGHT)).length;
    const skipped = notRun.length - atNight;
    if (skipped > 0 && !this.isPart) this.error = new Error(`${skipped} tests were skipped; none may be.`);
    const lines = [];
    if (this.filesAtNight.length > 0) {
      lines.push(
        `Left to npm run test:nightly, which has the time and the programs for them: ${atNight} tests of the files above, and ${this.filesAtNight.join(', ')}.`,
      );
    }
    if (skipped > 0) lines.push(`Not run, because they were skipped: ${skipped} tests.`);
    lines.push(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed`);
    // Jest prints its summary after this hook.
    process.once('exit', () => process.stdout.write(`\n${lines.join('\n')}\n`));
  }

  getLastError() {
    return this.error;
  }
};
