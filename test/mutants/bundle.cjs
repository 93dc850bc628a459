// Bundles the workflows with their mutants, for the model and for the tests.
const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { CACHE } = require('./cache.cjs');

require('../support/run-typescript.cjs');

const BUNDLES = { model: join(CACHE, 'model.js'), tests: join(CACHE, 'tests.js') };

function webpackConfigHook(config) {
  const rule = { test: /\.ts$/, enforce: 'pre', loader: require.resolve('./instrumented-loader.cjs') };
  config.module.rules.push(rule);
  return config;
}

async function bundleWithMutants() {
  const { bundlePlayed } = require('../model/script-player.ts');
  write(
    BUNDLES.model,
    await bundlePlayed({
      workflowInterceptorModules: [require.resolve('./mutant-interceptors.ts')],
      webpackConfigHook,
    }),
  );
  const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(__dirname, '../../workflows/index.ts'),
    logger: new DefaultLogger('WARN'),
    webpackConfigHook,
  });
  write(BUNDLES.tests, code);
}

function write(path, code) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}

module.exports = { BUNDLES, bundleWithMutants };
