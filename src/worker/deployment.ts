import type { WorkerOptions } from '@temporalio/worker';
import type { Environment } from '../config/service-config';
import { readDeploymentVersion } from '../config/temporal-config';

/**
 * The worker deployment version: the caller's (`undefined` for none), or else that of the environment. Jobs are pinned to
 * the version that they started on, so that a changed workflow never replays their history.
 */
export function deploymentOptions(
  given: Partial<WorkerOptions> = {},
  env?: Environment,
): WorkerOptions['workerDeploymentOptions'] {
  if ('workerDeploymentOptions' in given) return given.workerDeploymentOptions;
  const version = readDeploymentVersion(env);
  return version && { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
}
