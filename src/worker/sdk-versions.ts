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

/** As this package finds them, which in a host with two copies of one may not be as the host does. */
const FOUND = { activity, client, common, envconfig, plugin, worker, workflow };

const manifestSchema = z.object({ peerDependencies: z.object({ '@temporalio/worker': z.string() }) });

/**
 * Temporal's packages work together in one version: otherwise values of one are no values of the other. Those that are
 * optional are checked by who loads them.
 */
export function checkSdkVersions(optional: Record<string, string> = {}): void {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const problem = sdkProblem(
    { ...FOUND, ...optional },
    manifestSchema.parse(manifest).peerDependencies['@temporalio/worker'],
  );
  if (problem !== undefined) throw new ConfigError(problem);
}

/** What is wrong with the versions of Temporal's packages; undefined when nothing is. */
export function sdkProblem(found: Record<string, string>, range: string): string | undefined {
  const versions = [...new Set(Object.values(found))].sort(byVersion);
  const newest = versions.at(-1) ?? '';
  const wanted = isInRange(newest, range) ? newest : range;
  if (versions.length === 1 && wanted === newest) return undefined;
  const told = versions.map((version) => `${packagesOf(found, version)} ${version}`).join(' and ');
  const problem =
    versions.length > 1
      ? `Temporal's packages are of ${versions.length} versions`
      : `Temporal's packages are not in the range ${range} of temporal-videogen`;
  return `${problem}, ${told}: install ${packagesOf(found)} in one version, ${wanted}.`;
}

const packagesOf = (found: Record<string, string>, of?: string) =>
  Object.entries(found)
    .filter(([, version]) => of === undefined || version === of)
    .map(([name]) => `@temporalio/${name}`)
    .join(', ');

const byVersion = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });

/** For a range such as ^1.24.0, the only kind in our manifest. */
function isInRange(version: string, range: string): boolean {
  const least = range.replace('^', '');
  return byVersion(version, least) >= 0 && version.split('.')[0] === least.split('.')[0];
}

/** Two copies of one version are as bad as two versions, and only what a host hands over tells of them. */
export function checkWorkerCopy(given: unknown): void {
  if (given === undefined || given instanceof NativeConnection || given instanceof Worker) return;
  throw new ConfigError(
    'Your worker is of another copy of @temporalio/worker than the one that temporal-videogen finds: see npm ls @temporalio/worker, and install it once, beside both.',
  );
}
