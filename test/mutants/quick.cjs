// Mutants of what the quick tests hold, by Stryker.
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { ROOT, readJson } = require('./cache.cjs');
const { addResults, oneLine, textAt } = require('./results.cjs');
const { jsonReporter } = require('./quick.conf.cjs');

const STATUSES = {
  Killed: 'killed',
  Timeout: 'timed out',
  Survived: 'survived',
  NoCoverage: 'survived',
  // Stryker's own word for those that tests of one process cannot switch on: they act while a module loads.
  Ignored: 'static',
};

/** Runs Stryker over some or all of the folders and adds its results to those of earlier runs. */
function measureQuick({ only }) {
  const stryker = join(__dirname, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const mutate =
    only === undefined
      ? []
      : ['--mutate', only.endsWith('.ts') ? only : `${join(only, '**/*.ts')},!**/index.ts`];
  const config = join(__dirname, 'quick.conf.cjs');
  const { status } = spawnSync(process.execPath, [stryker, 'run', config, ...mutate], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`Stryker ended with ${status}`);
  addResults(resultsIn(readJson(join(ROOT, jsonReporter.fileName), { files: {} })));
}

function resultsIn({ files }) {
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.flatMap(({ status, statusReason, location: { start, end }, replacement = '', mutatorName }) => {
      const known = STATUSES[status];
      if (known === undefined || isWording(status, statusReason)) return [];
      const from = { line: start.line - 1, column: start.column - 1 };
      const to = { line: end.line - 1, column: end.column - 1 };
      return {
        file,
        line: start.line,
        column: start.column,
        original: textAt(source, { start: from, end: to }),
        replacement: oneLine(replacement),
        mutator: mutatorName,
        status: known,
        by: status === 'NoCoverage' ? 'no quick test reaches it' : undefined,
      };
    }),
  );
}

function isWording(status, reason = '') {
  return status === 'Ignored' && !/static/i.test(reason);
}

module.exports = { measureQuick };
