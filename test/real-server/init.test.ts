import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { runHere } from '../cli/cli-here';
import { endOf } from '../cli/cli-process';
import { ChildProcesses } from '../support/child-processes';
import { createHostProject, type HostProject } from '../support/host-project';
import { describeAtNight } from '../support/nightly';
import { QUICK_PROFILE } from '../support/quick-profile';

const ROOT = join(__dirname, '../..');
const TSCONFIG = {
  compilerOptions: {
    ...{ module: 'node20', target: 'es2023', types: ['node'], strict: true, skipLibCheck: true },
    ...{ exactOptionalPropertyTypes: true, isolatedModules: true },
  },
};

/** The kinds of projects: what their package.json says, and whether they are TypeScript. */
const KINDS = [
  ['TypeScript as CommonJS', {}, true],
  ['TypeScript as ES modules', { type: 'module' }, true],
  ['CommonJS', { type: 'commonjs' }, false],
  ['ES modules', { type: 'module' }, false],
] as const;

/** What is in a project before `init`. */
const filesOf = (manifest: object, isTypeScript: boolean) => ({
  'package.json': JSON.stringify({ private: true, ...manifest }),
  ...(isTypeScript && { 'tsconfig.json': JSON.stringify(TSCONFIG) }),
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-init-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(KINDS)('init writes %s, and says what to do next', async (_kind, manifest, isTypeScript) => {
  const before = Object.entries(filesOf(manifest, isTypeScript));
  for (const [file, text] of before) writeFileSync(join(folder, file), text);
  const { code, err } = await runHere(['init', folder]);
  expect(code).toBe(0);
  const extension = isTypeScript ? 'ts' : 'js';
  const programs = ['video-workflows', 'video-worker', 'make-video'].map((name) => `${name}.${extension}`);
  const written = [...programs, 'video.test.cjs', '.env'];
  expect(readdirSync(folder).sort()).toEqual([...before.map(([file]) => file), ...written].sort());
  for (const file of written) expect(err).toContain(`Wrote ${file}\n`);
  expect(err).toMatch(/\nNext:\n {2}cd .*\n {2}npm install temporal-videogen @temporalio\/client /);
});

test('init never overwrites a file, keeps to src, and needs a project', async () => {
  const missing = await runHere(['init', folder]);
  expect(missing.code).toBe(2);
  expect(missing.err).toMatch(/package\.json cannot be read \(ENOENT\): run videogen init in your project/);
  mkdirSync(join(folder, 'src'));
  const own = { 'package.json': '{}', 'src/make-video.js': 'mine', '.env': 'KEY=mine' };
  for (const [file, text] of Object.entries(own)) writeFileSync(join(folder, file), text);
  const { err } = await runHere(['init', folder]);
  expect(err).toContain('Wrote src/video-worker.js\nKept  src/make-video.js, which is there already\n');
  for (const [file, text] of Object.entries(own)) expect(readFileSync(join(folder, file), 'utf8')).toBe(text);
  expect(existsSync(join(folder, 'src/video.test.cjs'))).toBe(true);
  rmSync(join(folder, 'src'), { recursive: true });
  for (const [file, text, problem] of [
    ['tsconfig.json', '{\n  "verbatimModuleSyntax": true\n}', 'set "type": "module" in package.json'],
    ['package.json', '{"type":"module",}', 'package.json is not a JSON object: correct it first'],
    ['package.json', '{}', ''],
  ] as const) {
    writeFileSync(join(folder, file), text);
    if (problem) expect((await runHere(['init', folder])).err).toContain(problem);
  }
  rmSync(join(folder, 'tsconfig.json'));
  writeFileSync(join(folder, 'src'), 'a file');
  const refused = await runHere(['init', folder]);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('cannot be written (ENOTDIR)') });
});

describeAtNight('what init writes', () => {
  const { VIDEOGEN_TEMPORAL_CLI = '', VIDEOGEN_TEST_SERVER } = process.env;
  const processes = new ChildProcesses();
  let project: HostProject;
  let server: DevServer;
  let emulator: Emulator;
  beforeAll(async () => {
    server = await startDevServer({ executable: VIDEOGEN_TEMPORAL_CLI, headless: true });
    emulator = await startEmulator({ jobTimeMs: 0 });
  });
  afterEach(async () => {
    await processes.killAll();
    project.remove();
  });
  afterAll(async () => {
    await emulator.close();
    await server.stop();
  });

  const start = (...args: string[]) =>
    processes.start(args, {
      cwd: project.folder,
      env: {
        VIDEOGEN_TEST_SERVER,
        TEMPORAL_ADDRESS: server.address,
        VIDEO_API_BASE_URL: emulator.url,
        VIDEO_API_KEY: emulator.apiKey,
        VIDEOGEN_STORAGE: join(project.folder, 'videos'),
        ...QUICK_PROFILE,
      },
    });
  const startTool = (path: string, ...args: string[]) => start(join(ROOT, 'node_modules', path), ...args);

  test.each(KINDS)(
    'runs as %s: its test passes, and its worker makes a poster for its client',
    async (_kind, manifest, isTypeScript) => {
      project = createHostProject();
      project.write(filesOf(manifest, isTypeScript));
      await runHere(['init', project.folder]);
      const { code, err } = await endOf(startTool('jest/bin/jest.js'));
      expect([code, err]).toEqual([0, expect.stringContaining('2 passed, 2 total')]);
      if (isTypeScript)
        expect(await endOf(startTool('typescript-7/bin/tsc', '-p', '.'))).toEqual({
          code: 0,
          out: '',
          err: '',
        });
      start('video-worker.js');
      const { out } = await endOf(start('make-video.js'));
      expect(out).toMatch(/^file:.*\/videos\/poster-1-video\.mp4\n$/);
      expect(existsSync(new URL(out.trim()))).toBe(true);
    },
    180_000,
  );
});
