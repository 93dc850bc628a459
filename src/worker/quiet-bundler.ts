import { type BundleOptions, type BundlerPlugin, DefaultLogger, type WorkerPlugin } from '@temporalio/worker';
import { OWN_WORKFLOWS, PLUGIN_NAME, shareOwnModules } from './own-workflows';

/** The bundler lists every module at INFO; this makes it DEBUG. Warnings and errors keep their level. */
export function bundleQuietly(options: BundleOptions): BundleOptions {
  const logger = options.logger ?? new DefaultLogger('INFO');
  return {
    ...options,
    logger: new DefaultLogger('TRACE', ({ level, message, meta }) =>
      logger.log(level === 'INFO' ? 'DEBUG' : level, message, meta),
    ),
  };
}

/** For our own workers, if they bundle. A bundle without our workflows gets none of our modules. */
export const QUIET_BUNDLER: WorkerPlugin & BundlerPlugin = {
  name: `${PLUGIN_NAME} quiet bundler`,
  configureBundler: (options) =>
    bundleQuietly(options.workflowsPath === OWN_WORKFLOWS ? shareOwnModules(options) : options),
};
