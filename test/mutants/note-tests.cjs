const { appendFileSync } = require('node:fs');

/** Says in the list of what is reached which test begins, and when it has ended. */
function note(test) {
  globalThis.__test__ = test;
  const { VIDEOGEN_REACHED: list } = process.env;
  if (list) appendFileSync(list, `test ${test}\n`);
}

beforeEach(() => note(expect.getState().currentTestName));
afterEach(() => note(''));
