import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atLength } from '../support/nightly';
import { compile } from './compile';
import { createHost, INSTALL_TIMEOUT_MS, installNode, PEERS, SPECIFIERS, SYSTEMS, type System } from './host';
import { ROOT, run } from './run';
import { type ServiceWorld, startServiceWorld } from './service-world';

/** A later LTS than the oldest supported Node. */
const NEWER_NODE = '24.21.0';

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

// Compilers and bundlers share the processors with other tests.
jest.setTimeout(INSTALL_TIMEOUT_MS);

let world: ServiceWorld;
beforeAll(async () => {
  world = await startServiceWorld();
});
afterAll(() => world.stop());

async function addPrograms(host: string): Promise<void> {
  await writeFile(join(host, 'esm/names.mjs'), MISSING_NAMES);
  await writeFile(join(host, 'cjs/replay.js'), REPLAY);
  for (const system of SYSTEMS) await writeFile(join(host, system, 'imports.ts'), ALL_IMPORTS);
}

async function missingNames(host: string, node: string): Promise<string> {
  const { stdout } = await run(node, [join(host, 'esm/names.mjs')], { cwd: host });
  return stdout;
}

/** Runs the compiled ten-line example, and checks the video that it prints. */
async function expectVideo(host: string, system: System, node: string): Promise<void> {
  const storage = join(host, 'videos', `${system}-${randomUUID()}`);
  const env = world.settings(storage);
  const { stdout } = await run(node, [join(host, system, 'main.js')], { cwd: host, env });
  const [uri = '', bytes, sha256] = stdout.trim().split(' ');
  const path = fileURLToPath(uri);
  expect(dirname(path)).toBe(storage);
  const video = await readFile(path);
  expect(`${video.length}`).toBe(bytes);
  expect(createHash('sha256').update(video).digest('hex')).toBe(sha256);
}

// The rest of the suite uses the newest Temporal packages, CI runs it on the newer Node, and the examples run as CommonJS.
const AGES = atLength(['oldest'] as const, ['oldest', 'newest'] as const);
const RUN_SYSTEMS = atLength<readonly System[]>(['esm'], SYSTEMS);
const COMPILERS = atLength(['typescript-7'] as const, ['typescript-7', 'typescript'] as const);

describe.each(AGES)(
  'the packed package, installed into an empty project with the %s supported Temporal packages',
  (age) => {
    let host: string;
    let nodes: string[];
    beforeAll(async () => {
      host = await createHost(PEERS[age]);
      const newer = async () => [await installNode(NEWER_NODE, join(host, 'newer-node'))];
      nodes = [process.execPath, ...(await atLength(async () => [], newer)())];
      await addPrograms(host);
    });
    afterAll(() => rm(host, { recursive: true, force: true }));

    test('lets ES modules import every name of every entry point', async () => {
      for (const node of nodes) expect(await missingNames(host, node)).toBe('');
    });

    test('compiles as CommonJS and as an ES module without errors, and generates a video', async () => {
      for (const compiler of COMPILERS) expect(await compile(host, SYSTEMS, compiler)).toEqual([]);
      // In sequence: they share a task queue, and each must use its own worker.
      for (const system of RUN_SYSTEMS) for (const node of nodes) await expectVideo(host, system, node);
    });

    const replays = () =>
      test('replays recorded jobs', async () => {
        const history = join(ROOT, 'test/histories/well.json');
        const { stdout } = await run(process.execPath, [join(host, 'cjs/replay.js'), history], { cwd: host });
        expect(stdout).toBe('replayed\n');
      });
    // Like the program above, it bundles the workflows of the package.
    atLength(() => undefined, replays)();
  },
);
