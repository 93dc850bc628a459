import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';
import { createContext, Script } from 'node:vm';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { ConfigError } from '../config/service-config';
import { FAILURES } from '../contract/failure-table';
import { isInBundle, OWN_WORKFLOWS, PLUGIN_NAME, shareOwnModules } from './own-workflows';

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
      const own = [resolveToHost(resolve(workflowsPath)), CHECK_NAMES];
      return { ...config, plugins: [...(config.plugins ?? []), ...own] };
    },
  };
}

/** A hook and not an alias: it works whatever the host's own hook does with `resolve`. */
function resolveToHost(hostWorkflows: string): WebpackPlugin {
  return {
    apply({ hooks }) {
      hooks.normalModuleFactory.tap(PLUGIN_NAME, (factory) => {
        factory.hooks.beforeResolve.tap(PLUGIN_NAME, (resolveData) => {
          const { contextInfo, request } = resolveData;
          if (contextInfo.issuer === HOST_AND_OWN && request.endsWith('/index'))
            resolveData.request = hostWorkflows;
        });
      });
    },
  };
}

/** A name that is taken stops the worker from starting: in the sandbox it would only fail the host's workflow tasks. */
const CHECK_NAMES: WebpackPlugin = {
  apply({ hooks }) {
    hooks.emit.tap(PLUGIN_NAME, ({ assets, errors }) => {
      if (errors.length > 0) return;
      for (const asset of Object.values(assets)) loadWorkflows(asset.source().toString());
    });
  },
};

/** Workflows load in well under a second. */
const LOADING_MAX_MS = 10_000;

const INFO = { workflowType: '', workflowId: '', runId: '', unsafe: { isReplaying: false } };
/** What a module may read of its workflow while it loads. */
const ACTIVATOR = { now: 0, random: () => 0, currentRandom: () => 0, info: INFO };

/** Loads a bundle as the SDK's sandbox does: a CommonJS module may build its exports while it runs. */
function loadWorkflows(code: string): void {
  const context = createContext({
    ...{ assert, console, AbortController, AsyncLocalStorage, TextDecoder, TextEncoder },
    ...{ URL, URLSearchParams },
    __webpack_module_cache__: {},
    __TEMPORAL_ACTIVATOR__: { ...ACTIVATOR, workflowSandboxDestructors: [] },
  });
  try {
    new Script(`${code}\n__TEMPORAL__.importWorkflows();`).runInContext(context, { timeout: LOADING_MAX_MS });
  } catch (error) {
    const { name, message } = Object(error);
    // Any other error appears when the worker loads the host's module.
    if (name === 'WorkflowNameTaken') throw new ConfigError(message);
  }
}

/** A sentence of our workflows. A name proves nothing: the host may have chosen it too. */
const OWN_SENTENCE = FAILURES.SubmitUnconfirmed.meaning;

/** Accepts a bundle that the host built itself only if our workflows are in it. */
export function checkHostBundle(bundle: NonNullable<WorkerOptions['workflowBundle']>): void {
  if (isInBundle(OWN_SENTENCE, bundle)) return;
  throw new ConfigError(
    "The workflowBundle has no workflows of temporal-videogen: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }), or write export * from 'temporal-videogen/workflows' in its workflows.",
  );
}
