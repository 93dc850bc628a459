import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimplePlugin } from '@temporalio/plugin';
import type { WorkerOptions } from '@temporalio/worker';
import {
  bundleFiles,
  findBundle,
  OWN_WORKFLOWS,
  SDK_VERSIONS,
  withOwnWorkflows,
} from '../../src/worker/own-workflows';
import { VideoPlugin } from '../../src/worker/video-plugin';

const root = join(__dirname, '../..');
const built = join(root, 'dist/workflows');

describe('the bundle of our workflows', () => {
  it('is used with the SDK that it was built with, and with no other', () => {
    expect(findBundle(built)).toBe(join(built, 'bundle.js'));
    for (const name of Object.keys(SDK_VERSIONS)) {
      expect(findBundle(built, { ...SDK_VERSIONS, [name]: '1.24.1' })).toBeUndefined();
    }
  });

  it('is not found by a run from sources, whatever was built before', () => {
    expect(existsSync(bundleFiles(built).code)).toBe(true);
    expect(findBundle()).toBeUndefined();
  });

  it('is not used without the versions of its SDK', () => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-bundle-'));
    writeFileSync(bundleFiles(folder).code, '');
    expect(findBundle(folder)).toBeUndefined();
    rmSync(folder, { recursive: true });
  });

  it('has the compiled workflows, and no path of the machine that built it', () => {
    const script =
      "require('./scripts/bundle-workflows.cjs').bundleWorkflows().then((code) => console.log(code))";
    const code = execFileSync(process.execPath, ['-e', script], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 20 * 1024 * 1024,
    });
    const shipped = readFileSync(bundleFiles(built).code, 'utf8');
    expect(shipped === code.trimEnd()).toBe(true);

    const [runs = '', map = ''] = shipped.split(
      'sourceMappingURL=data:application/json;charset=utf-8;base64,',
    );
    const { sources } = JSON.parse(Buffer.from(map, 'base64').toString());
    expect(runs).not.toContain(root);
    expect(sources).toContain('./workflows/generate-video.ts');
    expect(sources.filter((source: string) => source.startsWith('/'))).toEqual([]);
  });
});

describe('the modules of our workflows, which all workflows of a worker share', () => {
  const modules = ['workflows', 'src/contract'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  );

  it('are run once for all of them, however they are bundled', () => {
    const shared = { workflowsPath: OWN_WORKFLOWS, preloadModules: [OWN_WORKFLOWS] };
    expect(withOwnWorkflows({}, () => undefined)).toEqual({
      workflowsPath: OWN_WORKFLOWS,
      bundlerOptions: { preloadModules: [OWN_WORKFLOWS] },
    });
    expect(new VideoPlugin().configureBundler({ workflowsPath: OWN_WORKFLOWS })).toMatchObject(shared);
    expect(
      new VideoPlugin().configureBundler({ workflowsPath: '/host', preloadModules: ['a', OWN_WORKFLOWS] }),
    ).toMatchObject({ preloadModules: ['a', OWN_WORKFLOWS] });
    expect(readFileSync(bundleFiles(built).code, 'utf8')).toMatch(
      /function preloadModules\(\) \{\s+__webpack_require__\(/,
    );
  });

  it.each(modules)('hold no state: %s', (file) => {
    const variables = /^(export )?(let|var) .*|^(export )?const .* = (new \w+(<.*>)?\(\)|\[\]|\{\});/gm;
    expect(readFileSync(join(root, file), 'utf8').match(variables)).toBeNull();
  });
});

describe('a worker without workflows', () => {
  const find = () => '/bundle.js';
  const configured = (options: Partial<WorkerOptions>) => withOwnWorkflows(options, find);

  it('gets the bundle, whichever of our plugins it has', () => {
    const plugins = [new VideoPlugin()];
    expect(configured({ plugins })).toEqual({ plugins, workflowBundle: { codePath: '/bundle.js' } });
  });

  it.each<[string, Partial<WorkerOptions>]>([
    ['bundler options', { bundlerOptions: { ignoreModules: ['a'] } }],
    ['interceptors in its workflows', { interceptors: { workflowModules: ['/a'] } }],
    ['a payload converter', { dataConverter: { payloadConverterPath: '/a' } }],
    ['a failure converter', { dataConverter: { failureConverterPath: '/a' } }],
    ["another package's plugin", { plugins: [new VideoPlugin(), new SimplePlugin({ name: 'a' })] }],
  ])('builds its own when it has %s, which go into it', (_what, options) => {
    expect(configured(options)).toMatchObject({ ...options, workflowsPath: OWN_WORKFLOWS });
  });
});

it.each<Partial<WorkerOptions>>([{ workflowsPath: '/w' }, { workflowBundle: { code: '' } }])(
  'a worker with workflows keeps them: %j',
  (options) => {
    expect(withOwnWorkflows(options, () => '/bundle.js')).toEqual(options);
  },
);
