const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const ROOT = join(__dirname, '../..');

/** Git ignores it. */
const LAST_RUN = join(ROOT, 'node_modules/.cache/videogen-tests/last-run.json');

/** The times of the files and tests of the last run. Empty before the first run. */
function lastRun() {
  try {
    return JSON.parse(readFileSync(LAST_RUN, 'utf8'));
  } catch {
    return [];
  }
}

module.exports = { LAST_RUN, ROOT, lastRun };
