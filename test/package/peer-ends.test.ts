import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { name, peerDependencies } from '../../package.json';
import { S3_SERVER_TIMEOUT_MS, startS3Server } from '../support/s3-server';
import { createHost, INSTALL_TIMEOUT_MS, installNode, SPECIFIERS } from './host';
import { run } from './run';

const NODE = '22.23.3';

/** Each peer at both ends of its range; npm takes the newest version of a range. */
const ENDS = {
  lowest: Object.entries(peerDependencies).map(([peer, range]) => `${peer}@${lowestOf(range)}`),
  highest: [
    // Packages of one release are published one after the other, and name each other exactly.
    '--legacy-peer-deps',
    ...Object.entries(peerDependencies).map(([peer, range]) => `${peer}@${range}`),
  ],
};

function lowestOf(range: string): string {
  return /\d+\.\d+\.\d+/.exec(range)?.[0] ?? range;
}

const IMPORTS = SPECIFIERS.map((specifier) => `require('${specifier}');`).join('\n');

jest.setTimeout(2 * INSTALL_TIMEOUT_MS + S3_SERVER_TIMEOUT_MS);

test.each(['lowest', 'highest'] as const)(
  'with the %s supported version of every peer, a video is generated on Node 22 and stored in S3',
  async (end) => {
    const host = await createHost(ENDS[end]);
    const s3 = await startS3Server();
    try {
      const node = await installNode(NODE, join(host, 'node'));
      await writeFile(join(host, 'imports.cjs'), IMPORTS);
      await run(node, [join(host, 'imports.cjs')], { cwd: host });
      const { endpoint, region, credentials } = s3.connection;
      const command = join(host, 'node_modules', name, 'dist/src/cli/main.js');
      const { stdout } = await run(node, [command, 'generate', 'A fox', '--id', end], {
        cwd: host,
        env: {
          VIDEOGEN_STORAGE: `s3://${s3.bucket}/${end}`,
          AWS_ENDPOINT_URL_S3: endpoint,
          AWS_REGION: region,
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
          VIDEOGEN_S3_PATH_STYLE: 'true',
        },
      });
      expect(stdout.trim()).toBe(`s3://${s3.bucket}/${end}/${end}.mp4`);
    } finally {
      await s3.stop();
      await rm(host, { recursive: true, force: true });
    }
  },
);
