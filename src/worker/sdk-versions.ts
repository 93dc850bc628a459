import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version as activity } from '@temporalio/activity/package.json';
import { version as client } from '@temporalio/client/package.json';
import { version as common } from '@temporalio/common/package.json';
import { version as envconfig } from '@temporalio/envconfig/package.json';
import { version as plugin } from '@temporalio/plugin/package.json';
import { NativeConnection, Worker } from '@temporalio/worker';
import { version as worker } from '@temporalio/worker/package.json';
import { version as workflow } from '@temporalio/workflow/package.json';
import { z } from 'zod';
import { ConfigError } from '../config/service-config';
import { packageRoot } from '../temporal-server/package-root';

/** As this package resolves them. A host with two copies of one may resolve another version. */
const RESOLVED = { activity, client, common, envconfig, plugin, worker, workflow };

const manifestSchema = z.object({ peerDependencies: z.object({ '@temporalio/worker': z.string() }) });

/**
 * Temporal's packages must all have one version: with two, `instanceof` fails between them. The caller passes the versions
 * of optional packages that it loads.
 */
export function checkSdkVersions(optional: Record<string, string> = {}): void {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const problem = sdkProblem(
    { ...RESOLVED, ...optional },
    manifestSchema.parse(manifest).peerDependencies['@temporalio/worker'],
  );
  if (problem !== undefined) throw new ConfigError(problem);
}

/** The problem with the versions of Temporal's packages and its fix; undefined when there is none. */
export function sdkProblem(found: Record<string, string>, range: string): string | undefined {
  const versions = [...new Set(Object.values(found))].sort(byVersion);
  const newest = versions.at(-1) ?? '';
  const needed = isInRange(newest, range) ? newest : range;
  if (versions.length === 1 && needed === newest) return undefined;
  const list = versions.map((version) => `${packagesOf(found, version)} ${version}`).join(' and ');
  const problem =
    versions.length > 1
      ? `Temporal's packages have ${versions.length} versions`
      : `Temporal's packages are not in the range ${range} of temporal-videogen`;
  return `${problem}, ${list}: install ${packagesOf(found)} in one version, ${needed}.`;
}

const packagesOf = (found: Record<string, string>, of?: string) =>
  Object.entries(found)
    .filter(([, version]) => of === undefined || version === of)
    .map(([name]) => `@temporalio/${name}`)
    .join(', ');

const byVersion = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });

/** For ranges such as ^1.24.0; our package.json has no others. */
function isInRange(version: string, range: string): boolean {
  const lowest = range.replace('^', '');
  return byVersion(version, lowest) >= 0 && version.split('.')[0] === lowest.split('.')[0];
}

/** Two copies of one version are as bad as two versions. Only an object that the host passes shows its copy. */
export function checkWorkerCopy(given: unknown): void {
  if (given === undefined || given instanceof NativeConnection || given instanceof Worker) return;
  throw new ConfigError(
    'Two copies of @temporalio/worker are installed, one for your worker and one for temporal-videogen: run `npm ls @temporalio/worker` and dedupe.',
  );
}
