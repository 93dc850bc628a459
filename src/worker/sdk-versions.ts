import { version as activity } from '@temporalio/activity/package.json';
import { version as client } from '@temporalio/client/package.json';
import { version as common } from '@temporalio/common/package.json';
import { version as plugin } from '@temporalio/plugin/package.json';
import { NativeConnection, Worker } from '@temporalio/worker';
import { version as worker } from '@temporalio/worker/package.json';
import { version as workflow } from '@temporalio/workflow/package.json';
import { ConfigError } from '../config/service-config';

/** As this package resolves them. A host with two copies of one may resolve another version. */
const VERSIONS = { activity, client, common, plugin, worker, workflow };

/** Temporal's packages must all have one version: with two, `instanceof` fails between them. */
export function checkSdkVersions(): void {
  if (new Set(Object.values(VERSIONS)).size === 1) return;
  const found = Object.entries(VERSIONS).map(([name, version]) => `@temporalio/${name} ${version}`);
  throw new ConfigError(
    `Temporal's packages have different versions, ${found.join(', ')}: install one of them.`,
  );
}

/** Two copies of one version are as bad as two versions. Only an object that the host passes shows its copy. */
export function checkWorkerCopy(given: unknown): void {
  if (given === undefined || given instanceof NativeConnection || given instanceof Worker) return;
  throw new ConfigError(
    'Two copies of @temporalio/worker are installed, one for your worker and one for temporal-videogen: run `npm ls @temporalio/worker` and dedupe.',
  );
}
