import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { name as packageName, peerDependencies } from '../../package.json';
import { readServerOptions } from '../../src/config/temporal-config';
import { type DevServer, findDevServer, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { QUICK_PROFILE } from '../support/quick-profile';
import { S3_SERVER_TIMEOUT_MS, startS3Server } from '../support/s3-server';
import { createHost, INSTALL_TIMEOUT_MS, installNode, PEERS, SPECIFIERS, SYSTEMS, type System } from './host';
import { ROOT, run, runToEnd } from './run';

// Installations, compilers and bundlers share the processors with other tests.
jest.setTimeout(2 * INSTALL_TIMEOUT_MS + S3_SERVER_TIMEOUT_MS);

let server: DevServer;
let emulator: Emulator;
beforeAll(async () => {
  const executable = await findDevServer(readServerOptions(process.env));
  server = await startDevServer({ executable, headless: true });
  emulator = await startEmulator({ jobTimeMs: 0 });
});
afterAll(async () => {
  await emulator.close();
  await server.stop();
});

/** Imports every entry point, so that the compiler reads every declaration. */
const ALL_IMPORTS = SPECIFIERS.map((name, index) => `export * as entry${index} from '${name}';\n`).join('');

/** Prints the names that `require` finds and `import` does not, as `specifier name`. */
const MISSING_NAMES = `
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
for (const specifier of ${JSON.stringify(SPECIFIERS)}) {
  const imported = await import(specifier);
  for (const name of Object.keys(require(specifier))) if (!(name in imported)) console.log(specifier, name);
}
`;

/** Replays a recorded job with the workflows of the package, as a host does before it upgrades. */
const REPLAY = `
const { Worker } = require('@temporalio/worker');
const { historyFromJSON } = require('@temporalio/common/lib/proto-utils');
const history = historyFromJSON(require(process.argv[2]));
const workflowsPath = require.resolve('temporal-videogen/workflows');
Worker.runReplayHistory({ workflowsPath }, history, 'well').then(() => console.log('replayed'));
`;

/** Runs the compiled ten-line example, and checks the video that it prints. */
async function expectVideo(host: string, system: System, node: string): Promise<void> {
  const storage = join(host, 'videos', `${system}-${randomUUID()}`);
  const env = {
    TEMPORAL_ADDRESS: server.address,
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: emulator.apiKey,
    ...QUICK_PROFILE,
    VIDEOGEN_STORAGE: storage,
  };
  const { stdout } = await run(node, [join(host, system, 'main.js')], { cwd: host, env });
  const [uri = '', bytes, sha256] = stdout.trim().split(' ');
  const path = fileURLToPath(uri);
  expect(dirname(path)).toBe(storage);
  const video = await readFile(path);
  expect(`${video.length}`).toBe(bytes);
  expect(createHash('sha256').update(video).digest('hex')).toBe(sha256);
}

const COMPILER_OPTIONS = {
  module: 'node20',
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
  pretty: false,
};

/**
 * Compiles the programs of a project in place, and returns the errors in them and in our declarations. One run for all
 * folders, because the types of the packages take most of the time.
 */
async function compile(host: string, compiler: string): Promise<string[]> {
  const config = join(host, 'tsconfig.json');
  const include = SYSTEMS.map((folder) => `${folder}/*.ts`);
  await writeFile(config, JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include }));
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  const { stdout, stderr } = await runToEnd(process.execPath, [tsc, '-p', config], { cwd: host });
  if (stderr !== '') throw new Error(`${tsc} failed:\n${stderr}`);
  return stdout.split('\n').filter(isOurs);
}

/** We cannot fix declarations of other packages: Temporal's import a module `ms` without types. */
function isOurs(line: string): boolean {
  const isOfOthers = /^node_modules\/(?!temporal-videogen\/(?!node_modules\/))/.test(line);
  // Further lines of a message are indented.
  return line !== '' && !line.startsWith(' ') && !isOfOthers;
}

describe.each(['oldest', 'newest'] as const)(
  'the packed package, installed into an empty project with the %s supported Temporal packages',
  (age) => {
    let host: string;
    let nodes: string[];
    beforeAll(async () => {
      host = await createHost(PEERS[age]);
      // The oldest supported Node, and a later LTS.
      nodes = [process.execPath, await installNode('24.21.0', join(host, 'newer-node'))];
      await writeFile(join(host, 'esm/names.mjs'), MISSING_NAMES);
      await writeFile(join(host, 'cjs/replay.js'), REPLAY);
      for (const system of SYSTEMS) await writeFile(join(host, system, 'imports.ts'), ALL_IMPORTS);
    });
    afterAll(() => rm(host, { recursive: true, force: true }));

    test('lets ES modules import every name of every entry point', async () => {
      for (const node of nodes) {
        const { stdout } = await run(node, [join(host, 'esm/names.mjs')], { cwd: host });
        expect(stdout).toBe('');
      }
    });

    test('compiles as CommonJS and as an ES module without errors, and generates a video', async () => {
      // The second also shows what users of TypeScript 6 get.
      for (const compiler of ['typescript-7', 'typescript'])
        expect(await compile(host, compiler)).toEqual([]);
      // In sequence: they share a task queue, and each must use its own worker.
      for (const system of SYSTEMS) for (const node of nodes) await expectVideo(host, system, node);
    });

    test('replays recorded jobs', async () => {
      const history = join(ROOT, 'test/histories/well.json');
      const { stdout } = await run(process.execPath, [join(host, 'cjs/replay.js'), history], { cwd: host });
      expect(stdout).toBe('replayed\n');
    });
  },
);

const lowestOf = (range: string) => /\d+\.\d+\.\d+/.exec(range)?.[0] ?? range;

/** Each peer at both ends of its range; npm takes the newest version of a range. */
const ENDS = {
  lowest: Object.entries(peerDependencies).map(([peer, range]) => `${peer}@${lowestOf(range)}`),
  highest: [
    // Packages of one release are published one after the other, and name each other exactly.
    '--legacy-peer-deps',
    ...Object.entries(peerDependencies).map(([peer, range]) => `${peer}@${range}`),
  ],
};

test.each(['lowest', 'highest'] as const)(
  'with the %s supported version of every peer, a video is generated on Node 22 and stored in S3',
  async (end) => {
    const host = await createHost(ENDS[end]);
    const s3 = await startS3Server();
    try {
      const node = await installNode('22.23.3', join(host, 'node'));
      const imports = SPECIFIERS.map((specifier) => `require('${specifier}');`).join('\n');
      await writeFile(join(host, 'imports.cjs'), imports);
      await run(node, [join(host, 'imports.cjs')], { cwd: host });
      const { endpoint, region, credentials } = s3.connection;
      const command = join(host, 'node_modules', packageName, 'dist/src/cli/main.js');
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
