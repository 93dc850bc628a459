// The process that plays the shares of scripts that run.cjs gives it.
require('../support/run-sources.cjs');
const { withBreak } = require('./breaks.ts');

const load = require.extensions['.ts'];
require.extensions['.ts'] = (module, filename) => {
  const { _compile: compile } = module;
  module._compile = (code, name) => compile.call(module, withBreak(code, filename), name);
  load(module, filename);
};
require('./player.ts');
