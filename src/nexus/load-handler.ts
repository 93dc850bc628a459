import type { ServiceHandler } from 'nexus-rpc';
import { ConfigError } from '../config/service-config';
import { errorCode } from '../contract/errors';
import type { VideoNexusOptions } from './handler';

/**
 * What answers callers in other namespaces, for the `nexusServices` of a worker that does jobs. It is loaded when somebody
 * wants it: Temporal's packages for Nexus are no more than optional peers of this one.
 */
export function createVideoNexusHandler(options?: VideoNexusOptions): ServiceHandler {
  return loadHandler().createHandler(options);
}

function loadHandler(): typeof import('./handler') {
  try {
    return require('./handler');
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new ConfigError(
      "Temporal's packages for Nexus are not installed: run `npm install @temporalio/nexus nexus-rpc`.",
      { cause: error },
    );
  }
}
