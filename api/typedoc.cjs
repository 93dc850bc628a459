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
  // Callers meet these only through other types.
  intentionallyNotExported: ['CarriedJob', 'NAMED_FAULTS', 'TracedReading', 'profileSchema'],
};
