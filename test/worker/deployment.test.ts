import { ConfigError } from '../../src/config/service-config';
import { deploymentOptions } from '../../src/worker/worker-options';

const SET = { TEMPORAL_DEPLOYMENT_NAME: 'videos', TEMPORAL_WORKER_BUILD_ID: '1.4.2' };
const pinned = {
  useWorkerVersioning: true,
  version: { deploymentName: 'videos', buildId: '1.4.2' },
  defaultVersioningBehavior: 'PINNED',
} as const;

describe('the version of a worker', () => {
  it('is none by default', () => {
    expect(deploymentOptions(undefined, {})).toBeUndefined();
    expect(deploymentOptions({}, {})).toBeUndefined();
  });

  it('comes from the settings, and jobs are pinned to it', () => {
    expect(deploymentOptions({ maxCachedWorkflows: 5 }, SET)).toEqual(pinned);
  });

  it('comes from the program first, even if the program sets none', () => {
    const own = { ...pinned, defaultVersioningBehavior: 'AUTO_UPGRADE' } as const;
    expect(deploymentOptions({ workerDeploymentOptions: own }, SET)).toBe(own);
    expect(deploymentOptions({ workerDeploymentOptions: undefined }, SET)).toBeUndefined();
  });

  it('is refused when only half of it is set', () => {
    expect(() => deploymentOptions({}, { TEMPORAL_WORKER_BUILD_ID: '1.4.2' })).toThrow(ConfigError);
  });
});
