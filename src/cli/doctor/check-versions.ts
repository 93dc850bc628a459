import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version as sdkVersion } from '@temporalio/client/package.json';
import { z } from 'zod';
import { packageRoot } from '../../temporal-server/package-root';
import { type Check, failed, ok } from './check';

const manifestSchema = z.object({ version: z.string(), engines: z.object({ node: z.string() }) });

export const checkVersions: Check = {
  name: 'versions',
  async run({ temporal }) {
    const manifest = manifestSchema.parse(
      JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')),
    );
    const server = await temporal().catch(() => undefined);
    const serverVersion = server && 'version' in server ? [`server ${server.version}`] : [];
    const node = process.versions.node;
    const ours = [`Node ${node}`, `temporal-videogen ${manifest.version}`, `Temporal SDK ${sdkVersion}`];
    const found = [...ours, ...serverVersion].join(', ');
    const minimum = manifest.engines.node.replace('>=', '');
    return isAtLeast(node, minimum) ? ok(found) : failed(found, `Install Node ${minimum} or newer.`);
  },
};

export function isAtLeast(version: string, minimum: string): boolean {
  return version.localeCompare(minimum, 'en', { numeric: true }) >= 0;
}
