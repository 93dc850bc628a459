const { projects } = require('../../jest.config.js');

/** The tests beside the mutated folders. Each mutant runs those that reach it. */
const FOLDERS = ['activities', 'contract', 'service', 'storage'];

/** They reach nearly everything and take many seconds; other tests hold what they hold. */
const TOO_SLOW = [
  'test/activities/download/hostile-downloads.test.ts',
  'test/activities/other-services.test.ts',
];

const { displayName, ...pure } = projects.find(({ displayName }) => displayName === 'pure');

module.exports = {
  ...pure,
  rootDir: '../..',
  // The watchful one checks for handles, which the tests of a mutant may well leave open.
  testEnvironment: 'node',
  setupFiles: [],
  testTimeout: 60_000,
  testMatch: FOLDERS.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  testPathIgnorePatterns: TOO_SLOW.map((path) => `<rootDir>/${path}`),
};
