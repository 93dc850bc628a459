import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version as sdkVersion } from '@temporalio/client/package.json';
import { z } from 'zod';
import { packageRoot } from '../../temporal-server/package-root';
import { type Check, ok, wrong } from './check';

const manifestSchema = z.object({ version: z.string(), engines: z.object({ node: z.string() }) });

export const checkVersions: Check = {
  name: 'versions',
  async run({ temporal }) {
    const manifest = manifestSchema.parse(
      JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')),
    );
    const place = await temporal().catch(() => undefined);
    const server = place && 'version' in place ? [`server ${place.version}`] : [];
    const node = process.versions.node;
    const ours = [`Node ${node}`, `temporal-videogen ${manifest.version}`, `Temporal SDK ${sdkVersion}`];
    const found = [...ours, ...server].join(', ');
    const least = manifest.engines.node.replace('>=', '');
    return isAtLeast(node, least) ? ok(found) : wrong(found, `Install Node ${least} or newer.`);
  },
};

export function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, 'en', { numeric: true }) >= 0;
}
