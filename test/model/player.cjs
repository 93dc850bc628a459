// The process that plays the shares of scripts that run.cjs gives it.
require('../support/run-sources.cjs');
const { withBreak } = require('./breaks.ts');
const { changeOnce } = require('./change-once.ts');

/** Among fifty jobs on a busy machine, a storage that answers would seem to be one that does not. */
const PATIENT = {
  file: '/src/storage/small-files.ts',
  from: 'RECORD_IO_MS = 5_000',
  to: 'RECORD_IO_MS = 60_000',
};

const changed = (code, filename) =>
  filename.endsWith(PATIENT.file) ? changeOnce(code, PATIENT.from, PATIENT.to) : code;

const load = require.extensions['.ts'];
require.extensions['.ts'] = (module, filename) => {
  const { _compile: compile } = module;
  module._compile = (code, name) => compile.call(module, changed(withBreak(code, filename), filename), name);
  load(module, filename);
};
require('./player.ts');
