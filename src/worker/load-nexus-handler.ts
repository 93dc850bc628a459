import type { ServiceHandler } from 'nexus-rpc';
import { ConfigError } from '../config/service-config';
import { errorCode } from '../contract/error-code';
import type { VideoNexusOptions } from './nexus-handler';

/**
 * Creates the handler of the Nexus service, for the `nexusServices` of a worker that runs jobs. Needs the optional packages
 * `@temporalio/nexus` and `nexus-rpc`, which it loads only here.
 *
 * @example
 * ```ts
 * const worker = await createVideoWorker({ worker: { nexusServices: [createVideoNexusHandler()] } });
 * ```
 */
export function createVideoNexusHandler(options?: VideoNexusOptions): ServiceHandler {
  return loadHandler().createHandler(options);
}

function loadHandler(): typeof import('./nexus-handler') {
  try {
    return require('./nexus-handler');
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new ConfigError(
      "Temporal's packages for Nexus are not installed: run `npm install @temporalio/nexus nexus-rpc`.",
      { cause: error },
    );
  }
}
