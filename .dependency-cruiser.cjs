const rooms = (names) => names.split(' ').map((name) => `src/${name}/`);

/**
 * The house: which folder may import which, and itself. docs/architecture.md, "Folders", tells it to people.
 * `types` may be named in `import type` alone.
 */
const HOUSE = [
  { folder: 'src/contract/', mayImport: [] },
  { folder: 'src/encryption/', mayImport: ['src/contract/'] },
  { folder: 'src/service/', mayImport: ['src/contract/'] },
  { folder: 'src/ai-sdk/', mayImport: rooms('contract service storage config client') },
  { folder: 'src/storage/', mayImport: ['src/contract/'] },
  { folder: 'src/media/', mayImport: ['src/contract/'] },
  { folder: 'workflows/', mayImport: ['src/contract/'], types: ['activities/'] },
  { folder: 'activities/', mayImport: rooms('contract encryption service storage media') },
  // The emulator: all but the environment of tests.
  { folder: 'src/testing/(?!index|test-environment)', mayImport: ['src/contract/'] },
  { folder: 'src/testing/', mayImport: ['src/(?!cli/|gateway/)[^/]+/'] },
  { folder: 'src/temporal-server/', mayImport: ['src/contract/'] },
  {
    folder: 'src/config/',
    mayImport: rooms('contract encryption service storage temporal-server'),
    types: ['activities/'],
  },
  { folder: 'src/client/', mayImport: rooms('contract encryption service storage config') },
  {
    folder: 'src/worker/',
    mayImport: [
      ...rooms('contract encryption service ai-sdk storage media temporal-server config client'),
      'activities/',
      'workflows/',
      'src/nexus[.]ts',
    ],
  },
  // It runs in browsers.
  { folder: 'src/gateway/page/', mayImport: [] },
  {
    folder: 'src/gateway/',
    mayImport: [
      ...rooms('contract encryption service storage config client'),
      // Of the worker's room, what loads nothing of the worker SDK.
      'src/worker/(logger|monitor)[.]ts',
    ],
  },
  { folder: 'src/cli/', mayImport: ['src/', 'workflows/', 'activities/'] },
  {
    folder: 'src/[^/]+[.]ts$',
    mayImport: ['src/(?!cli/|gateway/)[^/]+/', 'workflows/', 'activities/'],
  },
];

const OURS = '^(src|workflows|activities|test|bench|examples)/';
/** What parses with zod: the sandbox must not run it, a tightened schema would break the replay of running jobs. */
const ZOD_IN_CONTRACT = '^src/contract/(request|job-input)[.]ts$';
/** What runs in the sandbox: the workflows, and whatever of the contract they may import. */
const SANDBOX = {
  path: '^(workflows|src/contract)/|^src/worker/host-and-own[.]ts$|^src/encryption/failure-converter[.]ts$',
  pathNot: ZOD_IN_CONTRACT,
};
const SANDBOX_PACKAGES = 'node_modules/(@temporalio/(workflow|common)|@noble/hashes)/';

const starts = (places) => places.map((place) => `^${place}`);

const houseRules = HOUSE.flatMap(({ folder, mayImport, types = [] }) => [
  {
    name: `house: ${folder}`,
    comment: `may import ${mayImport.join(', ') || 'nothing of ours'}`,
    severity: 'error',
    from: { path: `^${folder}` },
    to: { path: OURS, pathNot: starts([folder, ...mayImport, ...types]) },
  },
  ...types.map((place) => ({
    name: `house: ${folder} (types of ${place} only)`,
    severity: 'error',
    from: { path: `^${folder}` },
    to: { path: `^${place}`, dependencyTypesNot: ['type-only'] },
  })),
]);

module.exports = {
  forbidden: [
    ...houseRules,
    {
      name: 'house: no other rooms',
      comment: 'a folder that the table does not name could import everything',
      severity: 'error',
      from: { path: '^(src|workflows|activities)/', pathNot: starts(HOUSE.map(({ folder }) => folder)) },
      to: {},
    },
    {
      name: 'sandbox: no zod',
      severity: 'error',
      from: SANDBOX,
      to: { path: ZOD_IN_CONTRACT, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sandbox: no packages but the workflow SDK and a pure digest',
      severity: 'error',
      from: SANDBOX,
      to: { path: 'node_modules/', pathNot: SANDBOX_PACKAGES, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sandbox: no Node built-ins',
      severity: 'error',
      from: { path: SANDBOX.path },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'client: not the worker SDK',
      comment: 'every command that only starts or follows a job would load it',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: 'node_modules/@temporalio/worker/', dependencyTypesNot: ['type-only'] },
    },
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'only declared packages',
      severity: 'error',
      from: {},
      // An optional peer is in devDependencies too, for our tests.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['npm-peer'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
