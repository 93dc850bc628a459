const { join } = require('node:path');
const { ENTRY_POINTS } = require('./entry-points.cjs');

/** @type {Partial<import('typedoc').TypeDocOptions>} */
module.exports = {
  entryPoints: ENTRY_POINTS.map(({ source }) => source),
  tsconfig: join(__dirname, '../tsconfig.build.json'),
  out: join(__dirname, 'html'),
  readme: 'none',
  // Links to the sources need the URL of a repository.
  disableSources: true,
  // Fails if an exported type refers to a type that no entry point exports.
  treatWarningsAsErrors: true,
  // Parts of exported types that users pass on and never name: what a service or a rate limiter answers, what a workflow
  // carries over, the schemas that types are inferred from.
  intentionallyNotExported: [
    'CONTAINER_NAMES',
    'Call',
    'CancelAnswer',
    'CarriedBatch',
    'CarriedJob',
    'CarriedLedger',
    'CountedSubmit',
    'ForService',
    'KnownTask',
    'NAMED_FAULTS',
    'OpenVideoOptions',
    'OpenedBatch',
    'Permit',
    'ReportedProgress',
    'Retry',
    'TaskReading',
    'VideoBody',
    'WaitingTask',
    'awaitJob',
    'profileSchema',
    'requestSchema',
  ],
};
