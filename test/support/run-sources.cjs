// Lets a Node process play the model from the TypeScript sources.
const { resolve } = require('node:path');

require('./run-typescript.cjs');
// Jest replaces this module in the same way.
const entry = resolve(__dirname, '../../src/media/inspect-entry.ts');
require.cache[entry] = {
  exports: require('./inspect-entry.ts'),
  filename: entry,
  id: entry,
  loaded: true,
};
