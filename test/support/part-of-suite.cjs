const { relative } = require('node:path');
const { projects } = require('../../jest.config.js');
const { ROOT } = require('./last-run.cjs');
const { LONGEST_SECONDS } = require('./long-files.cjs');

const { testPathIgnorePatterns: elsewhere } = projects.find(({ displayName }) => displayName === 'pure');
const foldersElsewhere = elsewhere.map((folder) => folder.replace('<rootDir>/', ''));

/** Whether a test file needs no server and takes a few seconds at most. */
function isQuick(file) {
  return !(file in LONGEST_SECONDS) && !foldersElsewhere.some((folder) => file.startsWith(folder));
}

/** For `jest --filter`: the quick test files, or the rest. */
module.exports = (paths) => {
  const wantsQuick = process.env.VIDEOGEN_TEST_PART === 'quick';
  return { filtered: paths.filter((path) => isQuick(relative(ROOT, path)) === wantsQuick) };
};
