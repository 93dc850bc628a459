// Notes which mutants of the workflows each test of a file reaches, and how long the test takes.
const { writeFileSync } = require('node:fs');
const WatchfulEnvironment = require('../support/watchful-environment.cjs');

module.exports = class ReachEnvironment extends WatchfulEnvironment {
  tests = [];

  async setup() {
    await super.setup();
    // The code with mutants adds to it, in Temporal's sandbox too: see global-setup.ts.
    globalThis.__reached__ = new Set();
  }

  async handleTestEvent(event, state) {
    const { name, test } = event;
    if (name === 'test_start') {
      this.outsideTests = takeReached(this.outsideTests);
      this.startedAt = Date.now();
    }
    // A test that fails without any mutant would kill all of them.
    if (name === 'test_done' && test.errors.length === 0 && test.mode !== 'skip') {
      const reached = takeReached();
      this.tests.push({ name: nameOf(test), ms: Date.now() - this.startedAt, reached });
    }
    if (name === 'run_finish') {
      const outside = takeReached(this.outsideTests);
      const tests = this.tests.map((one) => ({
        ...one,
        reached: [...new Set([...one.reached, ...outside])],
      }));
      writeFileSync(process.env.VIDEOGEN_MUTANTS_REACHED, JSON.stringify(tests));
    }
    await super.handleTestEvent(event, state);
  }
};

function takeReached(before = []) {
  const reached = [...before, ...globalThis.__reached__];
  globalThis.__reached__.clear();
  return reached;
}

/** As jest joins it for `-t`. */
function nameOf(test) {
  const names = [];
  for (let block = test; block.parent !== undefined; block = block.parent) names.unshift(block.name);
  return names.join(' ');
}
