const { projects } = require('../../jest.config.js');

const { displayName, ...server } = projects.find(({ displayName }) => displayName === 'server');

/** The tests of the workflows, with one mutant in them. */
module.exports = {
  ...server,
  rootDir: '../..',
  testTimeout: 60_000,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  setupFiles: ['<rootDir>/test/mutants/activate-mutant.cjs'],
  transform: {
    '/workflows/[^.]*[.]ts$': ['<rootDir>/test/mutants/instrumented-transform.cjs', { half: 'workflows' }],
    ...server.transform,
  },
};
