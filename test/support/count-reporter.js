/** Ends the run with one plain line, counted from jest's own result; a skipped test fails the run. */
module.exports = class CountReporter {
  onRunComplete(_contexts, result) {
    const brokenFiles = result.numRuntimeErrorTestSuites;
    const skipped = result.numPendingTests + result.numTodoTests;
    if (skipped > 0) this.error = new Error(`${skipped} tests were skipped; none may be.`);
    const line = `${result.numPassedTests} passed, ${result.numFailedTests + brokenFiles} failed`;
    // Jest's own summary comes after this hook.
    process.once('exit', () => process.stdout.write(`\n${line}\n`));
  }

  getLastError() {
    return this.error;
  }
};
