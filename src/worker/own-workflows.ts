import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createContext, Script } from 'node:vm';
import { version as activity } from '@temporalio/activity/package.json';
import { version as client } from '@temporalio/client/package.json';
import { version as common } from '@temporalio/common/package.json';
import { version as plugin } from '@temporalio/plugin/package.json';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { version as worker } from '@temporalio/worker/package.json';
import { version as workflow } from '@temporalio/workflow/package.json';
import { ConfigError } from '../config/read-setting';
import { FAILURES } from '../contract/failure-table';

/** As Temporal names plugins: by organisation and plugin. The names of all our plugins start with it. */
export const PLUGIN_NAME = 'temporal_videogen.VideoPlugin';

export const OWN_WORKFLOWS = require.resolve('../../workflows');

/** The versions of the SDK's packages, as this package resolves them. A host with two copies of one may resolve another. */
export const SDK_VERSIONS = { activity, client, common, plugin, worker, workflow };

/** The files that `npm run build` writes: next to the compiled workflows, so that a run from sources never finds them. */
export function bundleFiles(folder = dirname(OWN_WORKFLOWS)): { code: string; description: string } {
  return { code: join(folder, 'bundle.js'), description: join(folder, 'bundle.json') };
}

/** What `npm run build` writes next to a bundle. */
export function describeBundle(code: string | Buffer, sdk: object = SDK_VERSIONS): string {
  return JSON.stringify({ ...sdk, sha256: createHash('sha256').update(code).digest('hex') });
}

/** The path of the prebuilt bundle, if it is whole and was built with the installed SDK. */
export function findBundle(folder?: string, installed: object = SDK_VERSIONS): string | undefined {
  const { code, description } = bundleFiles(folder);
  try {
    const described = readFileSync(description, 'utf8');
    return described === describeBundle(readFileSync(code), installed) ? code : undefined;
  } catch {
    return undefined;
  }
}

type Bundle = NonNullable<WorkerOptions['workflowBundle']>;

/** Refuses a bundle of a host without a text of ours, which a minifier leaves. */
export function requireInBundle(bundle: Bundle | undefined, text: string, problem: string): void {
  if (bundle === undefined) return;
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  if (!code.includes(text)) throw new ConfigError(problem);
}

/** Accepts a bundle that the host built itself only if our workflows are in it. */
export function checkHostBundle(bundle: Bundle | undefined): void {
  requireInBundle(
    bundle,
    // A sentence of our workflows. A name proves nothing: the host may have chosen it too.
    FAILURES.SubmitUnconfirmed.meaning,
    "The workflowBundle has no workflows of temporal-videogen: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }), or write export * from 'temporal-videogen/workflows' in its workflows.",
  );
}

/**
 * Lets all workflows of a worker share our modules, which hold no state. The SDK would run them again for each workflow: twice
 * the memory for a job that waits.
 */
export function shareOwnModules<Options extends { preloadModules?: string[] }>(options: Options) {
  return { ...options, preloadModules: [...new Set([...(options.preloadModules ?? []), OWN_WORKFLOWS])] };
}

type Options = Pick<
  WorkerOptions & ReplayWorkerOptions,
  | 'workflowBundle'
  | 'workflowsPath'
  | 'bundlerOptions'
  | 'interceptors'
  | 'dataConverter'
  | 'plugins'
  | 'connection'
>;

/** Gives a worker without workflows ours: the prebuilt bundle, or one that it builds when it starts. */
export function withOwnWorkflows<Given extends Partial<Options>>(options: Given, find = findBundle): Given {
  if (options.workflowBundle || options.workflowsPath) return options;
  const codePath = needsOwnBundle(options) ? undefined : find();
  if (codePath !== undefined) return { ...options, workflowBundle: { codePath } };
  const bundlerOptions = shareOwnModules(options.bundlerOptions ?? {});
  return { ...options, workflowsPath: OWN_WORKFLOWS, bundlerOptions };
}

/** Whether the options add something to the bundle. */
function needsOwnBundle(options: Partial<Options>): boolean {
  const { bundlerOptions, interceptors, dataConverter, plugins = [], connection } = options;
  return (
    bundlerOptions !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    dataConverter?.payloadConverterPath !== undefined ||
    dataConverter?.failureConverterPath !== undefined ||
    // Another plugin may add to the bundle while it is built.
    ![...plugins, ...(connection?.plugins ?? [])].every(({ name }) => name.startsWith(PLUGIN_NAME))
  );
}

const HOST_AND_OWN = require.resolve('./host-and-own');

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];
type WebpackPlugin = Extract<NonNullable<WebpackConfig['plugins']>[number], { apply: unknown }>;

/**
 * Bundles a host's workflows together with ours. A worker has one module of workflows, and the SDK gives a plugin no way to add
 * to it: SimplePlugin's `workflowsPath` replaces the host's. So host-and-own.ts becomes that module.
 *
 * Leaves options alone that were changed by this function before: the SDK calls a plugin as often as it is named.
 */
export function bundleWithHost(options: BundleOptions): BundleOptions {
  const { workflowsPath, webpackConfigHook: hostHook = (config) => config } = options;
  if (workflowsPath === HOST_AND_OWN) return options;
  if (!workflowsPath || workflowsPath === OWN_WORKFLOWS)
    return shareOwnModules({ ...options, workflowsPath: OWN_WORKFLOWS });
  return {
    ...shareOwnModules(options),
    workflowsPath: HOST_AND_OWN,
    webpackConfigHook: (given) => {
      const config = hostHook(given);
      return { ...config, plugins: [...(config.plugins ?? []), mergeWithHost(resolve(workflowsPath))] };
    },
  };
}

/** Resolves the first path of host-and-own.ts to the host's module, and refuses workflow names that are taken. */
function mergeWithHost(hostWorkflows: string): WebpackPlugin {
  return {
    apply({ hooks }) {
      // A hook and not an alias: it works whatever the host's own hook does with `resolve`.
      hooks.normalModuleFactory.tap(PLUGIN_NAME, (factory) => {
        factory.hooks.beforeResolve.tap(PLUGIN_NAME, (resolveData) => {
          const { contextInfo, request } = resolveData;
          if (contextInfo.issuer === HOST_AND_OWN && request.endsWith('/index'))
            resolveData.request = hostWorkflows;
        });
      });
      // Before the worker is created: in the sandbox a taken name would only fail the host's workflow tasks.
      hooks.emit.tap(PLUGIN_NAME, ({ assets, errors }) => {
        if (errors.length > 0) return;
        for (const asset of Object.values(assets)) loadWorkflows(asset.source().toString());
      });
    },
  };
}

/** Workflows load in well under a second. */
const LOADING_MAX_MS = 10_000;

/** Loads a bundle as the SDK's sandbox does: a CommonJS module may build its exports while it runs. */
function loadWorkflows(code: string): void {
  const info = { workflowType: '', workflowId: '', runId: '', unsafe: { isReplaying: false } };
  const zero = () => 0;
  const context = createContext({
    ...{ assert, console, AbortController, AsyncLocalStorage, TextDecoder, TextEncoder },
    ...{ URL, URLSearchParams },
    __webpack_module_cache__: {},
    // What a module may read of its workflow while it loads.
    __TEMPORAL_ACTIVATOR__: {
      now: 0,
      random: zero,
      currentRandom: zero,
      info,
      workflowSandboxDestructors: [],
    },
  });
  try {
    new Script(`${code}\n__TEMPORAL__.importWorkflows();`).runInContext(context, { timeout: LOADING_MAX_MS });
  } catch (error) {
    const { name, message } = Object(error);
    // Any other error appears when the worker loads the host's module.
    if (name === 'WorkflowNameTaken') throw new ConfigError(message);
  }
}
