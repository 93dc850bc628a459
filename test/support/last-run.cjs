const { appendFileSync, mkdirSync, readFileSync, rmSync } = require('node:fs');
const { dirname, join } = require('node:path');

const ROOT = join(__dirname, '../..');

/** Git ignores it. */
const LAST_RUN = join(ROOT, 'node_modules/.cache/videogen-tests/last-run.json');

/** The processor time of each file of the run that is under way: a line of JSON each. */
const PROCESSOR_TIMES = `${LAST_RUN}l`;

/** How long each file of the last run took, with its tests; none before the first run. */
function lastRun() {
  try {
    return JSON.parse(readFileSync(LAST_RUN, 'utf8'));
  } catch {
    return [];
  }
}

function forgetProcessorTimes() {
  mkdirSync(dirname(PROCESSOR_TIMES), { recursive: true });
  rmSync(PROCESSOR_TIMES, { force: true });
}

function recordProcessorTime(file, ms) {
  appendFileSync(PROCESSOR_TIMES, `${JSON.stringify([file, ms])}\n`);
}

function processorTimes() {
  try {
    return new Map(
      readFileSync(PROCESSOR_TIMES, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
  } catch {
    return new Map();
  }
}

module.exports = { LAST_RUN, ROOT, forgetProcessorTimes, lastRun, processorTimes, recordProcessorTime };
