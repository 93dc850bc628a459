const { EXCLUDED } = require('./instrument.cjs');

const CACHE = 'node_modules/.cache/videogen-tests/mutants';

/** How Stryker measures the mutants of what the quick tests hold. */
module.exports = {
  testRunner: 'jest',
  jest: { configFile: 'test/mutants/jest.quick.cjs' },
  plugins: ['@stryker-mutator/jest-runner', require.resolve('./wording.mjs')],
  coverageAnalysis: 'perTest',
  mutate: [
    'src/contract/**/*.ts',
    'src/service/**/*.ts',
    'src/storage/**/*.ts',
    'activities/**/*.ts',
    '!**/index.ts',
  ],
  mutator: { excludedMutations: EXCLUDED },
  ignorers: ['wording'],
  // Those that act while a module loads would need a whole run of jest each. The report counts them apart.
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 20_000,
  cleanTempDir: 'always',
  incremental: true,
  incrementalFile: `${CACHE}/quick-incremental.json`,
  // Not below node_modules, where jest finds no tests.
  tempDirName: '.mutants',
  ignorePatterns: ['dist', 'docs', 'videos', 'examples', 'test/mutants/node_modules'],
  reporters: ['progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: `${CACHE}/quick.json` },
  htmlReporter: { fileName: `${CACHE}/quick.html` },
};
