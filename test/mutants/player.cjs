// The process that plays scripts with a mutant. It is killed when a mutant never ends.
const { resolve } = require('node:path');

require('../support/run-typescript.cjs');
// Jest replaces this module in the same way.
const entry = resolve(__dirname, '../../src/media/inspect-entry.ts');
require.cache[entry] = {
  exports: require('../support/inspect-entry.ts'),
  filename: entry,
  id: entry,
  loaded: true,
};
require('./player.ts');
