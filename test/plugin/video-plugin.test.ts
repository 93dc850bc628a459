import { join } from 'node:path';
import type { PayloadCodec } from '@temporalio/common';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { encryptedDataConverter } from '../../src/client/connect';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { ConfigError } from '../../src/config/service-config';
import { EncryptionCodec } from '../../src/encryption/encryption-codec';
import { makeEncryptionKey } from '../../src/encryption/key-ring';
import { encryptedWorker } from '../../src/worker/encrypt-worker';
import { bundleFiles, OWN_WORKFLOWS, SDK_VERSIONS } from '../../src/worker/own-workflows';
import { VideoPlugin, type VideoPluginOptions } from '../../src/worker/video-plugin';
import { optionsForOtherWorkers } from '../../src/worker/worker-options';

const SERVICE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: 'key' };

function configure(host: Partial<WorkerOptions> = {}, plugin: VideoPluginOptions = {}): WorkerOptions {
  return new VideoPlugin({ env: SERVICE, ...plugin }).configureWorker({ taskQueue: 'q', ...host });
}

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error instanceof Error ? error.message : '';
  }
  throw new Error('expected a refusal');
}

describe('a worker with the plugin', () => {
  it('has its own activities and ours, and the options that ours need unless they are set', () => {
    const own = async () => 1;
    const { activities, ...options } = configure({ activities: { own } });
    expect(Object.keys(activities ?? {}).slice(0, 2)).toEqual(['own', 'submitVideo']);
    expect(options).toMatchObject({ shutdownGraceTime: 20_000, maxHeartbeatThrottleInterval: '5s' });
    expect(configure({ shutdownGraceTime: '1m', maxHeartbeatThrottleInterval: undefined })).toMatchObject({
      shutdownGraceTime: '1m',
      maxHeartbeatThrottleInterval: '5s',
    });
    const patient = { ...SERVICE, VIDEOGEN_SHUTDOWN_GRACE: '5m' };
    expect(configure({}, { env: patient })).toMatchObject({ shutdownGraceTime: 300_000 });
  });

  it('may not have an activity of the same name', () => {
    expect(refusal(() => configure({ activities: { submitVideo: async () => 'mine' } }))).toBe(
      'Your worker and temporal-videogen both have the activity submitVideo: rename or remove your own.',
    );
  });

  it('is not changed by a second plugin', () => {
    const once = configure();
    expect(new VideoPlugin({ env: {} }).configureWorker(once)).toBe(once);
  });

  it('fails for a missing setting when it is created, not before', () => {
    const plugin = new VideoPlugin({ env: {} });
    expect(plugin.configureClient({ namespace: 'n' })).toEqual({ namespace: 'n' });
    expect(refusal(() => plugin.configureWorker({ taskQueue: 'q' }))).toMatch(
      /^VIDEO_API_BASE_URL is not set/,
    );
  });

  it('shares its deployment with the workers next to it, but not its own workflows and activities', () => {
    const workerDeploymentOptions = {
      useWorkerVersioning: true,
      version: { deploymentName: 'films', buildId: '1.4.2' },
      defaultVersioningBehavior: 'PINNED',
    } as const;
    const plugin = new VideoPlugin();
    const host = { taskQueue: 'q', identity: 'me', workerDeploymentOptions, plugins: [plugin] };
    const others = optionsForOtherWorkers(
      { ...host, activities: { own: async () => 1 }, workflowsPath: 'w' },
      plugin,
    );
    expect(others).toMatchObject({ identity: 'me', workerDeploymentOptions, plugins: [] });
    expect(Object.keys(others)).not.toContain('activities');
    expect(Object.keys(others)).not.toContain('workflowsPath');
  });

  it('may bring a bundle with our workflows; another is refused with the fix', () => {
    const { code: codePath } = bundleFiles(join(__dirname, '../../dist/workflows'));
    expect(configure({ workflowBundle: { codePath } }).workflowBundle).toEqual({ codePath });

    const message =
      "The workflowBundle has no workflows of temporal-videogen: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }), or write export * from 'temporal-videogen/workflows' in its workflows.";
    expect(refusal(() => configure({ workflowBundle: { code: 'generateVideo' } }))).toBe(message);
  });
});

describe('the plan of a bundle', () => {
  const plan = (workflowsPath: string, plugins: VideoPlugin[]) =>
    plugins.reduce((options: BundleOptions, plugin) => plugin.configureBundler(options), { workflowsPath });

  it('of a host without workflows has ours alone, and that of a replay too', () => {
    expect(plan('', [new VideoPlugin(), new VideoPlugin()])).toMatchObject({ workflowsPath: OWN_WORKFLOWS });
    const replay = new VideoPlugin().configureReplayWorker({ plugins: [] });
    expect(replay).toMatchObject({ workflowsPath: OWN_WORKFLOWS });
  });

  it('by several plugins has our workflows once', () => {
    const [first, second] = [new VideoPlugin(), new VideoPlugin()];
    const once = plan('/host/workflows.js', [first]);
    const { workflowsPath, webpackConfigHook } = second.configureBundler(first.configureBundler(once));
    expect({ workflowsPath, webpackConfigHook }).toEqual({
      workflowsPath: once.workflowsPath,
      webpackConfigHook: once.webpackConfigHook,
    });
    expect(workflowsPath).not.toBe('/host/workflows.js');
  });
});

describe('a plugin that is asked to encrypt', () => {
  const env = { VIDEOGEN_ENCRYPTION_KEYS: makeEncryptionKey('2026-11') };
  const codec: PayloadCodec = { encode: async (payloads) => payloads, decode: async (payloads) => payloads };
  const host = { payloadConverterPath: '/host/payloads', payloadCodecs: [codec] };
  const OURS = expect.any(EncryptionCodec);
  const OUR_FAILURES = expect.stringContaining('failure-converter');

  it('leaves the data converter of the host alone by default, although there are keys', () => {
    const plugin = new VideoPlugin({ env });
    expect(plugin.configureClient({ dataConverter: host }).dataConverter).toEqual(host);
    expect(plugin.configureBundler({ workflowsPath: '/host' }).failureConverterPath).toBeUndefined();
  });

  it('adds its codec behind those of the host, once, and its failure converter', () => {
    const plugin = new VideoPlugin({ env, encryption: true });
    const configured = plugin.configureClient({ dataConverter: host });
    const expected = { ...host, payloadCodecs: [codec, OURS], failureConverterPath: OUR_FAILURES };
    expect(configured.dataConverter).toEqual(expected);
    expect(plugin.configureClient(configured).dataConverter).toEqual(expected);
    expect(plugin.configureBundler({ workflowsPath: '/host' }).failureConverterPath).toEqual(OUR_FAILURES);
  });

  it('keeps a failure converter of the host', () => {
    const own = { ...host, failureConverterPath: '/host/failures' };
    expect(encryptedDataConverter({ env, dataConverter: own })).toMatchObject({
      failureConverterPath: '/host/failures',
    });
    const plugin = new VideoPlugin({ env, encryption: true });
    const bundled = plugin.configureBundler({
      workflowsPath: '/host',
      failureConverterPath: '/host/failures',
    });
    expect(bundled.failureConverterPath).toBe('/host/failures');
  });

  it('is refused without keys', () => {
    expect(() => encryptedDataConverter({ env: {} })).toThrow(/^There are no keys to encrypt with: set /);
    expect(() => new VideoPlugin({ env: {}, encryption: true }).configureClient({})).toThrow(
      /^The plugin has encryption: true, but there are no keys: /,
    );
  });

  it('refuses a bundle that would write messages of failures in the open', () => {
    const ring = readEncryptionKeys(env);
    const workflowBundle = { code: 'exports = {}' };
    expect(() => encryptedWorker({ workflowBundle }, { ring })).toThrow(
      /^The workflowBundle would write the messages /,
    );
    const own = { failureConverterPath: '/host/failures' };
    expect(() => encryptedWorker({ workflowBundle, dataConverter: own }, { ring })).not.toThrow();
    expect(() => encryptedWorker({ workflowBundle }, { ring: undefined })).not.toThrow();
  });
});

describe('a program', () => {
  it('with packages of Temporal in different versions is refused', () => {
    const version = jest.replaceProperty(SDK_VERSIONS, 'activity', '1.23.4');
    expect(refusal(configure)).toMatch(
      /^Temporal's packages have different versions, @temporalio\/activity 1\.23\.4, /,
    );
    version.restore();
  });

  it('with a second copy of the worker’s package is refused', () => {
    /** What the other copy has under this name. */
    class NativeConnection {}
    expect(refusal(() => configure({ connection: new NativeConnection() as never }))).toMatch(
      /^Two copies of @temporalio\/worker are installed, /,
    );
  });
});
