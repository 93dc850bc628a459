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
  // Parts of exported types need no name of their own: users pass them on.
  validation: { notExported: false },
  treatWarningsAsErrors: true,
};
