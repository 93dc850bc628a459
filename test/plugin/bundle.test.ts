import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostProject, type HostProject } from '../support/host-project';
import { atLength } from '../support/nightly';

/** How hosts write and compile workflows. What a file exports is often known only when it runs. */
const OWN = 'async function ownWorkflow() { return 1; }';
const VIDEO = 'async function generateVideo() { return 2; }';
const TSC_STAR = `var __exportStar = function(m, exports) { for (var p in m) if (p !== "default" && !Object.prototype.hasOwnProperty.call(exports, p)) exports[p] = m[p]; };`;

interface Shape {
  file: string;
  files: Record<string, string>;
  workflows: string[];
}

const ES_MODULES = 'ES modules';
const ON_PURPOSE = 'our workflows, on purpose';
const WORKFLOWS = [
  'deliverWebhook',
  'generateVideo',
  'generateVideoWithFallback',
  'generateVideos',
  'keepLedger',
  'ownWorkflow',
];

const SHAPES: Record<string, Shape> = {
  'TypeScript with a workflow for every other name': {
    file: 'workflows.ts',
    files: {
      'workflows.ts': `export ${OWN} export const progress: string = 'a name of the host'; export default async function any() { return 3; }`,
    },
    workflows: ['default', ...WORKFLOWS],
  },
  'a folder of TypeScript': {
    file: '',
    files: { 'index.ts': "export * from './own';", 'own.ts': `export ${OWN}` },
    workflows: WORKFLOWS,
  },
  'CommonJS of tsc, with a module by hand that reads the time while it loads': {
    file: 'index.js',
    files: {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `${OWN} module.exports = { ownWorkflow, since: [Date.now(), Math.random(), new Date()] };`,
    },
    workflows: WORKFLOWS,
  },
  [ES_MODULES]: {
    file: 'workflows.mjs',
    files: { 'workflows.mjs': "export * from './own.mjs';", 'own.mjs': `export ${OWN}` },
    workflows: WORKFLOWS,
  },
  [ON_PURPOSE]: {
    file: 'workflows.js',
    files: {
      'workflows.js': `${TSC_STAR} __exportStar(require("temporal-videogen/workflows"), exports); exports.ownWorkflow = ${OWN}`,
    },
    workflows: WORKFLOWS,
  },
};

/** Each with a generateVideo of its own: found where names are known only when the module runs, too. */
const TAKEN: Record<string, Omit<Shape, 'workflows'>> = {
  [ES_MODULES]: {
    file: 'workflows.mjs',
    files: { 'workflows.mjs': "export * from './own.mjs';", 'own.mjs': `export ${OWN} export ${VIDEO}` },
  },
  'CommonJS of tsc, with a module by hand that reads the time while it loads': {
    file: 'index.js',
    files: {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `${OWN} ${VIDEO} module.exports = { ownWorkflow, generateVideo, since: [Date.now(), Math.random(), new Date()] };`,
    },
  },
};

/** Each bundle takes seconds of a processor. */
const inSuite = atLength([ON_PURPOSE, ES_MODULES], Object.keys(SHAPES));
const shapes = Object.entries(SHAPES).filter(([name]) => inSuite.includes(name));
const taken = Object.entries(TAKEN).filter(([name]) => inSuite.includes(name));

/** The host’s path of a shape. */
const pathOf = (kind: string, name: string, file: string) =>
  `${kind}/${name.replaceAll(/\W+/g, '-')}/${file}`;

/** A second or so for each bundle, on a machine with nothing else to do. */
const BUNDLING_MAX_MS = 240_000;

const SCRIPT = `
const { bundleWorkflowCode, DefaultLogger, Runtime, Worker } = require('@temporalio/worker');
const { historyFromJSON } = require('@temporalio/common/lib/proto-utils');
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
const bundle = async (workflowsPath, plugins) => {
  try {
    const { code } = await bundleWorkflowCode({ workflowsPath, plugins, logger });
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
  for (const file of FILES) found[file] = await bundle(require('path').join(__dirname, file), [plugin]);
  const onPurpose = require('path').join(__dirname, ON_PURPOSE);
  found.byHand = await bundle(onPurpose, []);
  const { workflowBundle } = plugin.configureReplayWorker({ plugins: [plugin] });
  found.replays = await Worker.runReplayHistory({ plugins: [plugin] }, historyFromJSON(HISTORY), 'well')
    .then(() => workflowBundle.codePath.replace(/.*node_modules./, ''), String);
  console.log(JSON.stringify(found));
}
main();
`;

describe('bundled with the plugin', () => {
  let host: HostProject;
  let found: Record<string, { workflows: string[]; zod: boolean } | string>;

  beforeAll(() => {
    host = createHostProject();
    const paths: string[] = [];
    for (const [kind, written] of Object.entries({ fine: shapes, taken })) {
      for (const [name, { file, files }] of written) {
        paths.push(pathOf(kind, name, file));
        for (const [path, text] of Object.entries(files)) host.write({ [pathOf(kind, name, path)]: text });
      }
    }
    const history = readFileSync(join(__dirname, '../histories/well.json'), 'utf8');
    host.write({
      'bundle.js': SCRIPT.replace('FILES', JSON.stringify(paths))
        .replace('ON_PURPOSE', JSON.stringify(pathOf('fine', ON_PURPOSE, 'workflows.js')))
        .replace('HISTORY', () => history),
    });
    found = JSON.parse(JSON.stringify(host.run('bundle.js')));
  }, BUNDLING_MAX_MS);
  afterAll(() => host.remove());

  it.each(shapes)('%s has the host’s workflows and ours', (name, { file, workflows }) => {
    expect(found[pathOf('fine', name, file)]).toEqual({ workflows, zod: false });
  });

  it.each(taken)(
    '%s with a generateVideo of its own keeps the worker from being created, in a sentence',
    (name, { file }) => {
      expect(found[pathOf('taken', name, file)]).toBe(
        'ConfigError: Your worker and temporal-videogen both have the workflow generateVideo: rename or remove your own.',
      );
    },
  );

  it('without the plugin, a host that exports our workflows has them too', () => {
    expect(found.byHand).toEqual({ workflows: WORKFLOWS, zod: false });
  });

  it('a host without workflows replays jobs with the bundle of the package', () => {
    expect(found.replays).toBe('temporal-videogen/dist/workflows/bundle.js');
  });
});
