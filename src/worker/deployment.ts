import type { WorkerOptions } from '@temporalio/worker';
import type { Environment } from '../config/service-config';
import { readDeploymentVersion } from '../config/temporal-config';

/**
 * Which version of which deployment a worker is: as the caller says (`undefined` for none), or else as the environment
 * does. A job then ends on the version that it began on: its workflow need not know how later ones differ.
 */
export function deploymentOptions(
  given: Partial<WorkerOptions> = {},
  env?: Environment,
): WorkerOptions['workerDeploymentOptions'] {
  if ('workerDeploymentOptions' in given) return given.workerDeploymentOptions;
  const version = readDeploymentVersion(env);
  return version && { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
}
