const WatchfulEnvironment = require('../support/watchful-environment.cjs');

/** Runs no more tests after one that fails: jest itself bails only between files, and each may wait until its time is up. */
module.exports = class FailFastEnvironment extends WatchfulEnvironment {
  hasFailed = false;

  async handleTestEvent(event, state) {
    const { name, test } = event;
    if (name === 'test_start' && this.hasFailed) test.mode = 'skip';
    if (name === 'test_done' && test.errors.length > 0) this.hasFailed = true;
    await super.handleTestEvent(event, state);
  }
};
