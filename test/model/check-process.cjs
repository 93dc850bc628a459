// The process that checks the shares of scripts that run.cjs sends to it. It answers each with its report.
const { readFileSync } = require('node:fs');
require('../support/run-sources.cjs');
const { withBreak } = require('./breaks.ts');

const load = require.extensions['.ts'];
require.extensions['.ts'] = (module, filename) => {
  const { _compile: compile } = module;
  module._compile = (code, name) => compile.call(module, withBreak(code, filename), name);
  load(module, filename);
};
const { checkScripts } = require('./check-scripts.ts');
const { ScriptRunner, silenceLogs } = require('./script-runner.ts');
const { fc } = require('../support/properties.ts');

/** With its group, to which Temporal's server belongs. */
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

silenceLogs();
const code = withBreak(readFileSync(process.argv[2], 'utf8'));
process.on('message', async (share) => {
  try {
    // Each share has a server of its own: the test server forgets nothing.
    const runner = await ScriptRunner.open(code);
    const { seed } = fc.readConfigureGlobal();
    const report = await checkScripts(runner, { ...share, seed }, true);
    await runner.close();
    process.send({ report });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
