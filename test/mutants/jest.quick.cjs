const { projects } = require('../../jest.config.js');

const { displayName, ...pure } = projects.find(({ displayName }) => displayName === 'pure');

/** The tests beside the mutated folders, run again for each mutant that they reach. */
module.exports = {
  ...pure,
  rootDir: '../..',
  testEnvironment: '<rootDir>/test/mutants/quick-environment.cjs',
  setupFiles: [],
  testTimeout: 60_000,
  transform: { '\\.ts$': ['<rootDir>/test/mutants/instrumented-transform.cjs', { half: 'quick' }] },
};
