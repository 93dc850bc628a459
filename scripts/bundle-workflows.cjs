// Bundles the compiled workflows once, so that no worker has to when it starts: dist/workflows/bundle.js, and beside it the
// versions of the SDK it was made with.
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');

const ROOT = join(__dirname, '..');

/** The same bytes wherever it is made: files are named as they lie in the package, and their sources are beside it. */
async function bundleWorkflows() {
  const { OWN_WORKFLOWS } = require('../dist/src/worker/own-workflows');
  const { code } = await bundleWorkflowCode({
    workflowsPath: OWN_WORKFLOWS,
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => ({
      ...config,
      context: ROOT,
      devtool: 'inline-nosources-source-map',
      output: { ...config.output, devtoolModuleFilenameTemplate: '[resource-path]' },
    }),
  });
  return code;
}

async function writeBundle() {
  const { SDK_OF_BUNDLE, bundleFiles } = require('../dist/src/worker/own-workflows');
  const files = bundleFiles();
  writeFileSync(files.code, await bundleWorkflows());
  writeFileSync(files.sdk, JSON.stringify(SDK_OF_BUNDLE));
}

module.exports = { bundleWorkflows, writeBundle };

if (require.main === module) {
  writeBundle().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  });
}
