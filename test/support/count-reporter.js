/** Ends the run with one line of counts. A skipped test fails the run. */
module.exports = class CountReporter {
  onRunComplete(_contexts, result) {
    const brokenFiles = result.numRuntimeErrorTestSuites;
    const skipped = result.numPendingTests + result.numTodoTests;
    if (skipped > 0) this.error = new Error(`${skipped} tests were skipped; none may be.`);
    const line = `${result.numPassedTests} passed, ${result.numFailedTests + brokenFiles} failed`;
    // Jest prints its summary after this hook.
    process.once('exit', () => process.stdout.write(`\n${line}\n`));
  }

  getLastError() {
    return this.error;
  }
};
