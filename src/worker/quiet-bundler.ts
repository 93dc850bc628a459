import { type BundleOptions, type BundlerPlugin, DefaultLogger, type WorkerPlugin } from '@temporalio/worker';
import { PLUGIN_NAME } from './own-workflows';

/** The bundler lists every module of a bundle that came well: that is for whoever debugs. What went wrong is told. */
export function bundleQuietly(options: BundleOptions): BundleOptions {
  const logger = options.logger ?? new DefaultLogger('INFO');
  return {
    ...options,
    logger: new DefaultLogger('TRACE', ({ level, message, meta }) =>
      logger.log(level === 'INFO' ? 'DEBUG' : level, message, meta),
    ),
  };
}

/** For workers of our own. */
export const QUIET_BUNDLER: WorkerPlugin & BundlerPlugin = {
  name: `${PLUGIN_NAME} quiet bundler`,
  configureBundler: bundleQuietly,
};
