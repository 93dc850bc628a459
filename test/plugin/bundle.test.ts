import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostProject, type HostProject } from '../support/host-project';

/** How hosts write and compile workflows. What a file exports is often known only when it runs. */
const OWN = 'async function ownWorkflow() { return 1; }';
const VIDEO = 'async function generateVideo() { return 2; }';
const TSC_STAR = `var __exportStar = function(m, exports) { for (var p in m) if (p !== "default" && !Object.prototype.hasOwnProperty.call(exports, p)) exports[p] = m[p]; };`;

interface Shape {
  file: string;
  fine: Record<string, string>;
  taken: Record<string, string>;
}

const SHAPES: Record<string, Shape> = {
  TypeScript: {
    file: 'workflows.ts',
    fine: { 'workflows.ts': `export ${OWN} export const progress: string = 'a name of the host';` },
    taken: { 'workflows.ts': `export ${OWN} export ${VIDEO}` },
  },
  'a folder of TypeScript': {
    file: '',
    fine: { 'index.ts': "export * from './own';", 'own.ts': `export ${OWN}` },
    taken: { 'index.ts': "export * from './own';", 'own.ts': `export ${OWN} export ${VIDEO}` },
  },
  'CommonJS by hand': {
    file: 'workflows.js',
    fine: { 'workflows.js': `${OWN} module.exports = { ownWorkflow };` },
    taken: { 'workflows.js': `${OWN} ${VIDEO} module.exports = { ownWorkflow, generateVideo };` },
  },
  'CommonJS of tsc': {
    file: 'index.js',
    fine: {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `"use strict"; exports.ownWorkflow = ownWorkflow; ${OWN}`,
    },
    taken: {
      'index.js': `"use strict"; ${TSC_STAR} __exportStar(require("./own"), exports);`,
      'own.js': `"use strict"; exports.ownWorkflow = ownWorkflow; exports.generateVideo = generateVideo; ${OWN} ${VIDEO}`,
    },
  },
  'ES modules': {
    file: 'workflows.mjs',
    fine: { 'workflows.mjs': "export * from './own.mjs';", 'own.mjs': `export ${OWN}` },
    taken: { 'workflows.mjs': "export * from './own.mjs';", 'own.mjs': `export ${OWN} export ${VIDEO}` },
  },
  'a module that reads the time while it loads': {
    file: 'workflows.js',
    fine: { 'workflows.js': `exports.since = Date.now(); exports.ownWorkflow = ${OWN}` },
    taken: {
      'workflows.js': `exports.since = [Date.now(), Math.random(), new Date()]; exports.ownWorkflow = ${OWN}; exports.generateVideo = ${VIDEO}`,
    },
  },
  'a workflow for every other name': {
    file: 'workflows.ts',
    fine: { 'workflows.ts': `export ${OWN} export default async function any() { return 3; }` },
    taken: { 'workflows.ts': `export default async function any() { return 3; } export ${VIDEO}` },
  },
  'our workflows, on purpose': {
    file: 'workflows.js',
    fine: {
      'workflows.js': `${TSC_STAR} __exportStar(require("temporal-videogen/workflows"), exports); exports.ownWorkflow = ${OWN}`,
    },
    taken: {
      'workflows.js': `exports.ownWorkflow = ${OWN}; exports.generateVideo = (...all) => require("temporal-videogen/workflows").generateVideo(...all);`,
    },
  },
};

/** A second or so for each bundle, on a machine with nothing else to do. */
const BUNDLING_MAX_MS = 240_000;

const SCRIPT = `
const { bundleWorkflowCode, DefaultLogger, Runtime, Worker } = require('@temporalio/worker');
const { historyFromJSON } = require('@temporalio/common/lib/proto-utils');
const { VideoPlugin } = require('temporal-videogen/plugin');
const { loadWorkflowExports } = require('./node_modules/temporal-videogen/dist/src/plugin/bundle');
const logger = new DefaultLogger('ERROR', () => undefined);
Runtime.install({ logger });
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
  found.twice = await bundle(require('path').join(__dirname, FILES[0]), [plugin, plugin, new VideoPlugin()]);
  found.nothing = await bundle(undefined, [plugin]);
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
    Object.values(SHAPES).forEach(({ file, ...kinds }, index) => {
      for (const [kind, files] of Object.entries(kinds)) {
        const folder = `${kind}-${index}`;
        paths.push(`${folder}/${file}`);
        host.write(
          Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text])),
        );
      }
    });
    const history = readFileSync(join(__dirname, '../histories/well.json'), 'utf8');
    host.write({
      'bundle.js': SCRIPT.replaceAll('FILES', JSON.stringify(paths)).replace('HISTORY', () => history),
    });
    found = JSON.parse(JSON.stringify(host.run('bundle.js')));
  }, BUNDLING_MAX_MS);
  afterAll(() => host.remove());

  it.each(Object.entries(SHAPES))('%s has the host’s workflows and ours', (name, { file }) => {
    const path = `fine-${Object.keys(SHAPES).indexOf(name)}/${file}`;
    const others = name === 'a workflow for every other name' ? ['default'] : [];
    expect(found[path]).toEqual({
      workflows: [...others, 'generateVideo', 'generateVideos', 'ownWorkflow'],
      zod: false,
    });
  });

  it.each(Object.entries(SHAPES))(
    '%s with a generateVideo of its own is refused in a sentence',
    (name, { file }) => {
      const path = `taken-${Object.keys(SHAPES).indexOf(name)}/${file}`;
      expect(found[path]).toBe(
        'ConfigError: Your worker and temporal-videogen both have the workflow generateVideo: rename or remove your own.',
      );
    },
  );

  it('by several plugins, it has the same workflows', () => {
    expect(found.twice).toEqual({
      workflows: ['generateVideo', 'generateVideos', 'ownWorkflow'],
      zod: false,
    });
  });

  it('for a host without workflows, it has ours alone', () => {
    expect(found.nothing).toEqual({ workflows: ['generateVideo', 'generateVideos'], zod: false });
  });

  it('a host without workflows replays jobs with the bundle of the package', () => {
    expect(found.replays).toBe('temporal-videogen/dist/workflows/bundle.js');
  });
});
