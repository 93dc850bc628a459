// Bundles the compiled workflows into dist/workflows/bundle.js, so that workers need not do it when they start, and writes
// its description beside it: its hash, and the versions of the SDK that bundled it.
const { join } = require('node:path');
const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
const { writeAtomically } = require('./write-atomically.cjs');

const ROOT = join(__dirname, '..');

/**
 * The result is the same on every machine: source maps have paths relative to the package, and no sources. They map lines, not
 * columns: the SDK looks up every frame of every promise in a workflow.
 */
async function bundleWorkflows() {
  const { OWN_WORKFLOWS, shareOwnModules } = require('../dist/src/worker/own-workflows');
  const options = {
    workflowsPath: OWN_WORKFLOWS,
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => ({
      ...config,
      context: ROOT,
      devtool: 'inline-nosources-cheap-module-source-map',
      output: { ...config.output, devtoolModuleFilenameTemplate: '[resource-path]' },
    }),
  };
  const { code } = await bundleWorkflowCode(shareOwnModules(options));
  return code;
}

async function writeBundle() {
  const { bundleFiles, describeBundle } = require('../dist/src/worker/own-workflows');
  const files = bundleFiles();
  const code = await bundleWorkflows();
  writeAtomically(files.code, code);
  writeAtomically(files.description, describeBundle(code));
}

module.exports = { bundleWorkflows, writeBundle };

if (require.main === module) {
  writeBundle().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  });
}
