const { projects } = require('../../jest.config.js');

const { displayName, ...server } = projects.find(({ displayName }) => displayName === 'server');
const environment = process.env.VIDEOGEN_MUTANTS_REACHED ? 'reach-environment' : 'fail-fast-environment';

/** The tests of the workflows: with one mutant in them, or to see which mutants they reach. */
module.exports = {
  ...server,
  rootDir: '../..',
  testEnvironment: `<rootDir>/test/mutants/${environment}.cjs`,
  testTimeout: 60_000,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  setupFiles: ['<rootDir>/test/mutants/activate-mutant.cjs'],
  transform: {
    '/workflows/[^.]*[.]ts$': ['<rootDir>/test/mutants/instrumented-transform.cjs', { half: 'workflows' }],
    ...server.transform,
  },
};
