import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimplePlugin } from '@temporalio/plugin';
import type { WorkerOptions } from '@temporalio/worker';
import {
  bundleFiles,
  describeBundle,
  findBundle,
  OWN_WORKFLOWS,
  SDK_VERSIONS,
  withOwnWorkflows,
} from '../../src/worker/own-workflows';
import { VideoPlugin } from '../../src/worker/video-plugin';
import { createHostProject, type HostProject } from '../support/host-project';
import { atLength, testAtNight } from '../support/nightly';

const ROOT = join(__dirname, '../..');
const BUILT = join(ROOT, 'dist/workflows');

describe('a bundle of the host', () => {
  const OWN = 'async function ownWorkflow() { return 1; }';
  const VIDEO = 'async function generateVideo() { return 2; }';
  const TSC_STAR = `var __exportStar = function(m, exports) { for (var p in m) if (p !== "default" && !Object.prototype.hasOwnProperty.call(exports, p)) exports[p] = m[p]; };`;
  const WORKFLOWS = [
    'deliverWebhook',
    'generateVideo',
    'generateVideoWithFallback',
    'generateVideos',
    'keepLedger',
    'ownWorkflow',
  ];

  /** How hosts write and compile workflows, by the file with them. What a file exports is often known only when it runs. */
  const FINE: Record<string, Record<string, string>> = {
    'on-purpose/workflows.js': {
      'workflows.js': `${TSC_STAR} __exportStar(require("temporal-videogen/workflows"), exports); exports.ownWorkflow = ${OWN}`,
    },
    'es-modules/workflows.mjs': {
      'workflows.mjs': "export * from './own.mjs';",
      'own.mjs': `export ${OWN}`,
    },
    // A module by hand, which reads the time while it loads.
    'commonjs-of-tsc/index.js': {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `${OWN} module.exports = { ownWorkflow, since: [Date.now(), Math.random(), new Date()] };`,
    },
    'typescript/workflows.ts': {
      'workflows.ts': `export ${OWN} export const progress: string = 'a name of the host'; export default async function any() { return 3; }`,
    },
  };
  const ON_PURPOSE = 'on-purpose/workflows.js';

  /** Each with a generateVideo of its own. */
  const TAKEN: Record<string, Record<string, string>> = {
    'es-modules-taken/workflows.mjs': {
      'workflows.mjs': "export * from './own.mjs';",
      'own.mjs': `export ${OWN} export ${VIDEO}`,
    },
    'commonjs-taken/index.js': {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `${OWN} ${VIDEO} module.exports = { ownWorkflow, generateVideo, since: [Date.now(), Math.random(), new Date()] };`,
    },
  };

  // Each bundle takes seconds of a processor, and test/real-server/plugin-and-nexus.test.ts runs one.
  const taken = Object.keys(TAKEN).slice(0, atLength(1, undefined));
  const fine = atLength([], Object.keys(FINE));

  const SCRIPT = `
const { bundleWorkflowCode, DefaultLogger, Runtime } = require('@temporalio/worker');
const { VideoPlugin } = require('temporal-videogen/worker');
const { createContext, Script } = require('vm');
const logger = new DefaultLogger('ERROR', () => undefined);
Runtime.install({ logger });
/** What a bundle exports, found by loading it as the SDK's sandbox would. */
const loadWorkflowExports = (code) => {
  const info = { workflowType: '', workflowId: '', runId: '', unsafe: { isReplaying: false } };
  const activator = { now: 0, random: () => 0, currentRandom: () => 0, info, workflowSandboxDestructors: [] };
  const { assert, AbortController, TextDecoder, TextEncoder, URL, URLSearchParams } = { assert: require('assert'), ...require('util'), ...require('url'), AbortController: globalThis.AbortController };
  const { AsyncLocalStorage } = require('async_hooks');
  const context = createContext({ assert, AbortController, AsyncLocalStorage, TextDecoder, TextEncoder, URL, URLSearchParams, console, __webpack_module_cache__: {}, __TEMPORAL_ACTIVATOR__: activator });
  new Script(code).runInContext(context);
  return new Script('__TEMPORAL__.importWorkflows()').runInContext(context);
};
const bundle = async (file, plugins) => {
  try {
    const { code } = await bundleWorkflowCode({ workflowsPath: require('path').join(__dirname, file), plugins, logger });
    const exported = Object.entries(loadWorkflowExports(code));
    return {
      workflows: exported.filter(([, one]) => typeof one === 'function').map(([name]) => name).sort(),
      zod: code.includes('node_modules/zod'),
    };
  } catch (error) {
    return String(error);
  }
};
async function main() {
  const plugin = new VideoPlugin();
  const found = {};
  for (const file of FILES) found[file] = await bundle(file, [plugin]);
  if (FILES.includes(ON_PURPOSE)) found.byHand = await bundle(ON_PURPOSE, []);
  console.log(JSON.stringify(found));
}
main();
`;

  /** A second or so for each bundle, on a machine with nothing else to do. */
  const BUNDLING_MAX_MS = 240_000;

  let host: HostProject;
  let found: Record<string, unknown>;
  beforeAll(() => {
    host = createHostProject();
    for (const [path, files] of Object.entries({ ...FINE, ...TAKEN })) {
      const [folder] = path.split('/');
      for (const [name, text] of Object.entries(files)) host.write({ [`${folder}/${name}`]: text });
    }
    const files = `const FILES = ${JSON.stringify([...fine, ...taken])};`;
    host.write({ 'bundle.js': `${files} const ON_PURPOSE = '${ON_PURPOSE}';${SCRIPT}` });
    found = Object(host.run('bundle.js'));
  }, BUNDLING_MAX_MS);
  afterAll(() => host.remove());

  it.each(taken)('with a generateVideo of its own keeps the worker from being created: %s', (path) => {
    expect(found[path]).toBe(
      'ConfigError: Your worker and temporal-videogen both have the workflow generateVideo: rename or remove your own.',
    );
  });

  testAtNight(
    'has the workflows of the host and ours, also without the plugin if the host exports them',
    async () => {
      const paths = [...fine, 'byHand'];
      expect(paths.map((path) => found[path])).toEqual(
        paths.map((path) => ({
          workflows: path.endsWith('.ts') ? ['default', ...WORKFLOWS] : WORKFLOWS,
          zod: false,
        })),
      );
    },
  );
});

describe('the bundle of our workflows', () => {
  it('is used with the SDK that it was built with, with no other, and by no run from sources', () => {
    const { code } = bundleFiles(BUILT);
    expect(existsSync(code)).toBe(true);
    expect(findBundle(BUILT)).toBe(code);
    for (const name of Object.keys(SDK_VERSIONS))
      expect(findBundle(BUILT, { ...SDK_VERSIONS, [name]: '1.24.1' })).toBeUndefined();
    expect(findBundle()).toBeUndefined();
  });

  it.each([
    ['truncated', 'export const a'],
    ['of another build', 'export const b = 1;'],
  ])('is not used if it is %s, or without the versions of its SDK', (_kind, damaged) => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-bundle-'));
    const { code, description } = bundleFiles(folder);
    writeFileSync(code, 'export const a = 1;');
    expect(findBundle(folder)).toBeUndefined();
    writeFileSync(description, describeBundle('export const a = 1;'));
    expect(findBundle(folder)).toBe(code);
    writeFileSync(code, damaged);
    expect(findBundle(folder)).toBeUndefined();
    rmSync(folder, { recursive: true });
  });

  it('has the compiled workflows, and no path of the machine that built it', () => {
    const [runs = '', map = ''] = readFileSync(bundleFiles(BUILT).code, 'utf8').split(
      'sourceMappingURL=data:application/json;charset=utf-8;base64,',
    );
    const { sources } = JSON.parse(Buffer.from(map, 'base64').toString());
    expect(runs).not.toContain(ROOT);
    expect(sources).toContain('./dist/workflows/generate-video.js');
    expect(sources.filter((source: string) => source.startsWith('/'))).toEqual([]);
  });
});

describe('the modules of our workflows, which all workflows of a worker share', () => {
  it('are run once for all of them, however they are bundled', () => {
    const shared = { workflowsPath: OWN_WORKFLOWS, preloadModules: [OWN_WORKFLOWS] };
    expect(withOwnWorkflows({}, () => undefined)).toEqual({
      workflowsPath: OWN_WORKFLOWS,
      bundlerOptions: { preloadModules: [OWN_WORKFLOWS] },
    });
    const plugin = new VideoPlugin();
    expect(plugin.configureBundler({ workflowsPath: OWN_WORKFLOWS })).toMatchObject(shared);
    expect(
      plugin.configureBundler({ workflowsPath: '/host', preloadModules: ['a', OWN_WORKFLOWS] }),
    ).toMatchObject({ preloadModules: ['a', OWN_WORKFLOWS] });
    expect(readFileSync(bundleFiles(BUILT).code, 'utf8')).toMatch(
      /function preloadModules\(\) \{\s+__webpack_require__\(/,
    );
  });

  it('hold no state', () => {
    const modules = ['workflows', 'src/contract'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => join(ROOT, folder, file)),
    );
    expect(modules.length).toBeGreaterThan(30);
    const variables = /^(export )?(let|var) .*|^(export )?const .* = (new \w+(<.*>)?\(\)|\[\]|\{\});/gm;
    for (const file of modules)
      expect([file, readFileSync(file, 'utf8').match(variables)]).toEqual([file, null]);
  });
});

describe('a worker', () => {
  const configured = (options: Partial<WorkerOptions>) => withOwnWorkflows(options, () => '/bundle.js');

  it('without workflows gets the bundle, whichever of our plugins it has', () => {
    const plugins = [new VideoPlugin()];
    expect(configured({ plugins })).toEqual({ plugins, workflowBundle: { codePath: '/bundle.js' } });
  });

  it.each<[string, Partial<WorkerOptions>]>([
    ['bundler options', { bundlerOptions: { ignoreModules: ['a'] } }],
    ['interceptors in its workflows', { interceptors: { workflowModules: ['/a'] } }],
    ['a payload converter', { dataConverter: { payloadConverterPath: '/a' } }],
    ['a failure converter', { dataConverter: { failureConverterPath: '/a' } }],
    ["another package's plugin", { plugins: [new VideoPlugin(), new SimplePlugin({ name: 'a' })] }],
  ])('without workflows builds its own when it has %s, which go into it', (_what, options) => {
    expect(configured(options)).toMatchObject({ ...options, workflowsPath: OWN_WORKFLOWS });
  });

  it.each<Partial<WorkerOptions>>([{ workflowsPath: '/w' }, { workflowBundle: { code: '' } }])(
    'with workflows keeps them: %j',
    (options) => {
      expect(configured(options)).toEqual(options);
    },
  );
});
