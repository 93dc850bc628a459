/** What the variant in VIDEOGEN_TEST_VARIANT changes of Temporal's SDK, by module. */
const variants = require('./variants.cjs');

const { dataConverter: convert, worker: workerOptions } = variants[process.env.VIDEOGEN_TEST_VARIANT] ?? {};

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

module.exports = {
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
