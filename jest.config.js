const { availableParallelism } = require('node:os');
const { filesLeftOut } = require('./test/variants/left-out.cjs');

const swc = [
  '@swc/jest',
  { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' },
];

// ES modules, which Node can require, and jest only when they are transformed.
const AI_SDK = '/test/ai-sdk/node_modules/';

const shared = {
  // Not in the folder of temporary files, which each run has its own of.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testEnvironment: '<rootDir>/test/support/open-handles.cjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/set-up.ts'],
  transform: { '\\.ts$': swc, [`${AI_SDK}.*\\.js$`]: swc },
  transformIgnorePatterns: [`^(?!.*${AI_SDK}).*/node_modules/`],
  moduleNameMapper: {
    // jest cannot run the process that inspects videos, so it loads TypeScript by itself.
    '^[.]/inspect-entry$': '<rootDir>/test/support/inspect-entry.ts',
  },
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/test/mutants/node_modules',
    '<rootDir>/test/ai-sdk/node_modules',
  ],
};

// Tests that need a Temporal server stand apart, so that `jest --selectProjects pure` answers in seconds.
const NEEDS_A_SERVER = [
  '<rootDir>/test/time-skipping/',
  '<rootDir>/test/real-server/',
  '<rootDir>/test/model/',
];

// Tests of other people's packages with our workers.
const NEEDS_PROVIDERS = ['<rootDir>/test/ai-sdk/providers/'];

// A quarter of a minute of a processor or more each, for what shorter tests show in part, or for what seldom changes;
// or tests that need a program besides Node.
const AT_NIGHT = [
  // Whole programs and projects of their own, whose types are checked in every run.
  'test/package/installed.test.ts',
  'test/package/skill.test.ts',
  'test/package/examples.test.ts',
  'test/real-server/examples.test.ts',
  // Minutes for a rollout.
  'test/real-server/worker-deployment.test.ts',
  // Twenty programs with mistakes in their settings.
  'test/real-server/secrets.test.ts',
  // Packages of other people, which change with the lock file alone.
  'test/ai-sdk/providers/packages.test.ts',
];
const isWhole = process.env.VIDEOGEN_NIGHTLY || process.env.VIDEOGEN_TEST_VARIANT;
const FILES_AT_NIGHT = isWhole ? [] : AT_NIGHT;
const LEFT_OUT = FILES_AT_NIGHT.map((file) => `<rootDir>/${file}`);

// Tests of what is published: they pack it and install it elsewhere.
const NEEDS_A_TARBALL = ['<rootDir>/test/package/'];

module.exports = {
  // Many files wait for servers and timeouts: four more than the cores keep those busy meanwhile.
  maxWorkers: Math.min(availableParallelism() + 4, 8),
  testTimeout: 60_000,
  reporters: ['default', ['<rootDir>/test/support/closing-lines.cjs', { filesAtNight: FILES_AT_NIGHT }]],
  projects: [
    {
      ...shared,
      displayName: 'pure',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [...NEEDS_A_SERVER, ...NEEDS_PROVIDERS, ...NEEDS_A_TARBALL, ...LEFT_OUT],
      globalSetup: '<rootDir>/test/support/ai-sdk-packages.cjs',
    },
    {
      ...shared,
      displayName: 'server',
      testMatch: NEEDS_A_SERVER.map((folder) => `${folder}**/*.test.ts`),
      testPathIgnorePatterns: [
        ...LEFT_OUT,
        ...filesLeftOut(process.env.VIDEOGEN_TEST_VARIANT).map((file) => `<rootDir>/${file}`),
      ],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
    {
      ...shared,
      displayName: 'ai-sdk',
      testMatch: NEEDS_PROVIDERS.map((folder) => `${folder}**/*.test.ts`),
      testPathIgnorePatterns: LEFT_OUT,
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
    {
      ...shared,
      displayName: 'package',
      testMatch: NEEDS_A_TARBALL.map((folder) => `${folder}**/*.test.ts`),
      testPathIgnorePatterns: LEFT_OUT,
      globalSetup: '<rootDir>/test/package/global-setup.ts',
      globalTeardown: '<rootDir>/test/package/global-teardown.ts',
    },
  ],
};
