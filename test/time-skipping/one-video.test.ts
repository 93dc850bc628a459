import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { filesOfOneVideo } from '../support/one-video';
import { bundlePath, inWorld, quickWorkflows } from '../support/world';

const ROOT = join(__dirname, '../..');
/** What the compilers add to a module, which runs when somebody loads it or names its exports. */
const ADDED = /^$|^get |^_|^[.]\//;
const ADDED_BY_WEBPACK = '() => (/*';
const MODULE = /^\/\*\*\*\/ "[.]\/(.+)"$/gm;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

test('one video enters every file that the page about the architecture names', async () => {
  const entered = await inWorld(env, { worker: quickWorkflows() }, ({ videos }) =>
    filesEntered(() => videos.execute({ request: { prompt: 'A red fox' } })),
  );
  const named = filesOfOneVideo().map(({ file }) => file);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((file) => !entered.has(file))).toEqual([]);
  // The measurement tells apart what a plain job does not need.
  for (const other of ['activities/adopt-task.ts', 'workflows/fallback.ts', 'src/storage/s3-storage.ts'])
    expect(entered).not.toContain(other);
});

/** The sources of ours of which a function is called meanwhile, in this thread. */
async function filesEntered(work: () => Promise<unknown>): Promise<Set<string>> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const files = new Set<string>();
    for (const { url, functions } of result) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : url;
      for (const { functionName, ranges } of functions) {
        const { count = 0, startOffset = 0 } = ranges[0] ?? {};
        if (count === 0 || ADDED.test(functionName)) continue;
        if (path !== bundlePath()) files.add(relative(ROOT, path));
        else if (!bundle.startsWith(ADDED_BY_WEBPACK, startOffset)) files.add(moduleAt(startOffset));
      }
    }
    return files;
  } finally {
    session.disconnect();
  }
}

const bundle = readFileSync(bundlePath(), 'utf8');
const modules = [...bundle.matchAll(MODULE)].reverse();

/** The source whose code is at an offset of the bundled workflows. */
function moduleAt(offset: number): string {
  const [, name] = modules.find(({ index }) => index <= offset) ?? [];
  return String(name);
}
