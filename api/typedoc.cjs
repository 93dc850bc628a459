const { join } = require('node:path');
const { ENTRY_POINTS } = require('./entry-points.cjs');

/** @type {Partial<import('typedoc').TypeDocOptions>} */
module.exports = {
  entryPoints: ENTRY_POINTS.map(({ source }) => source),
  tsconfig: join(__dirname, '../tsconfig.build.json'),
  out: join(__dirname, 'html'),
  readme: 'none',
  // Links to the sources would need the address of a repository.
  disableSources: true,
  // A type that is told names only types that are told, by whichever entry point: the report of that one then has it.
  treatWarningsAsErrors: true,
  // Their types are told through others; themselves they are not for callers.
  intentionallyNotExported: ['CarriedJob', 'NAMED_FAULTS', 'TracedReading', 'profileSchema'],
};
