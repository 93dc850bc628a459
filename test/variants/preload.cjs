// Loaded into every process of a run with `--require`. It gives each client and worker of Temporal's SDK the settings of the
// variant in VIDEOGEN_TEST_VARIANT, whoever creates them, and hands itself on to child processes.
const { ChildProcess } = require('node:child_process');
const Module = require('node:module');
const { sep } = require('node:path');
const variants = require('./variants.cjs');

const { dataConverter: convert, worker: workerOptions } = variants[process.env.VIDEOGEN_TEST_VARIANT] ?? {};

const HANDED_ON = ['VIDEOGEN_TEST_VARIANT', 'VIDEOGEN_TEST_EXTERNAL', 'VIDEOGEN_TEST_BUNDLE', 'NODE_OPTIONS'];

const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function spawnInVariant(options) {
  const set = new Set((options.envPairs ?? []).map((pair) => pair.split('=', 1)[0]));
  const added = HANDED_ON.filter((name) => !set.has(name) && process.env[name] !== undefined);
  const envPairs = [...(options.envPairs ?? []), ...added.map((name) => `${name}=${process.env[name]}`)];
  return spawn.call(this, options.envPairs ? { ...options, envPairs } : options);
};

/** What is changed of a module of the SDK, by the end of its path. */
const CHANGES = {
  '@temporalio/common/lib/internal-non-workflow/data-converter-helpers.js': (helpers) => {
    const { loadDataConverter } = helpers;
    helpers.loadDataConverter = (given) => loadDataConverter(converted(given));
  },
  '@temporalio/worker/lib/worker.js': ({ Worker }) => {
    const { create } = Worker;
    Worker.create = function createInVariant(options) {
      const added = workerOptions?.() ?? {};
      return create.call(this, { ...options, ...added, ...bundleOf(options), ...converterOf(options) });
    };
  },
  '@temporalio/worker/lib/workflow/bundler.js': (bundler) => {
    const { bundleWorkflowCode } = bundler;
    bundler.bundleWorkflowCode = (options) => {
      const { failureConverterPath, payloadConverterPath } = converted({}) ?? {};
      return bundleWorkflowCode({ failureConverterPath, payloadConverterPath, ...options });
    };
  },
};

/** Once: the worker of the SDK passes its converter on to its client. */
const done = new WeakSet();

function converted(given) {
  if (convert === undefined || (given && done.has(given))) return given;
  const result = convert({ ...given });
  done.add(result);
  return result;
}

const converterOf = ({ dataConverter }) => (convert ? { dataConverter: converted(dataConverter) } : {});

/** The bundle of the built package has no converters of others in it; that of the run has, and the same workflows. */
function bundleOf({ workflowBundle, workflowsPath, plugins = [] }) {
  // A worker with our plugin and without workflows of its own gets the built bundle.
  const isBuilt =
    !workflowBundle && !workflowsPath && plugins.some(({ name }) => name === 'temporal-videogen');
  const codePath = process.env.VIDEOGEN_TEST_BUNDLE;
  return isBuilt && codePath ? { workflowBundle: { codePath } } : {};
}

const { _load: load, _resolveFilename: resolve } = Module;
const changed = new Set();
Module._load = function loadInVariant(request, parent, isMain) {
  const exported = load.call(this, request, parent, isMain);
  if (!request.startsWith('.') && !request.includes('@temporalio')) return exported;
  let path;
  try {
    path = resolve.call(Module, request, parent, isMain);
  } catch {
    return exported;
  }
  for (const [end, change] of Object.entries(CHANGES)) {
    if (!path.endsWith(end.replaceAll('/', sep)) || changed.has(path)) continue;
    changed.add(path);
    change(exported);
  }
  return exported;
};
