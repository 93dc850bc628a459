/**
 * Bundles a host's workflows together with ours.
 *
 * A worker has one module of workflows, and the SDK gives a plugin no way to add to it: SimplePlugin's `workflowsPath`
 * replaces the host's. A host that writes `export * from 'temporal-videogen/workflows'` needs none of this. For all others:
 * - host-and-own.ts becomes the module of workflows, and a webpack hook resolves its './no-host' to the host's own module;
 * - the finished bundle is loaded once. A CommonJS module may build its exports while it runs, so only then is it known
 *   whether the host has a workflow with the name of one of ours, or whether its own bundle has our workflows in it.
 */
import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { URL, URLSearchParams } from 'node:url';
import { TextDecoder, TextEncoder } from 'node:util';
import { createContext, Script } from 'node:vm';
import { type BundleOptions, Runtime, type WorkerOptions } from '@temporalio/worker';
import * as ownWorkflows from '../../workflows';
import { ConfigError } from '../config/service-config';
import { FAILURES } from '../contract/failure-table';
import { isWorkflow } from './combine-workflows';
import { OWN_WORKFLOWS, PLUGIN_NAME, shareOwnModules } from './own-workflows';

const HOST_AND_OWN = require.resolve('./host-and-own');

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];
type WebpackPlugin = Extract<NonNullable<WebpackConfig['plugins']>[number], { apply: unknown }>;

/** Leaves options alone that were changed by this function before: the SDK calls a plugin as often as it is named. */
export function bundleWithHost(options: BundleOptions): BundleOptions {
  const { workflowsPath, webpackConfigHook: hostHook = (config) => config } = options;
  if (workflowsPath === HOST_AND_OWN) return options;
  if (!workflowsPath || workflowsPath === OWN_WORKFLOWS)
    return shareOwnModules({ ...options, workflowsPath: OWN_WORKFLOWS });
  return {
    ...shareOwnModules(options),
    workflowsPath: HOST_AND_OWN,
    webpackConfigHook: (config) => withHost(hostHook(config), resolve(workflowsPath)),
  };
}

function withHost(config: WebpackConfig, hostWorkflows: string): WebpackConfig {
  return {
    ...config,
    plugins: [...(config.plugins ?? []), resolveToHost(hostWorkflows), CHECK_NAMES],
  };
}

/** A hook and not an alias: it works whatever the host's own hook does with `resolve`. */
function resolveToHost(hostWorkflows: string): WebpackPlugin {
  return {
    apply({ hooks }) {
      hooks.normalModuleFactory.tap(PLUGIN_NAME, (factory) => {
        factory.hooks.beforeResolve.tap(PLUGIN_NAME, (resolveData) => {
          if (resolveData.request === './no-host' && resolveData.contextInfo.issuer === HOST_AND_OWN) {
            resolveData.request = hostWorkflows;
          }
        });
      });
    },
  };
}

const CHECK_NAMES: WebpackPlugin = {
  apply({ hooks }) {
    hooks.emit.tap(PLUGIN_NAME, ({ assets, errors }) => {
      if (errors.length > 0) return;
      for (const asset of Object.values(assets)) checkNames(asset.source().toString());
    });
  },
};

function checkNames(code: string): void {
  try {
    loadWorkflowExports(code);
  } catch (error) {
    const { name, message } = Object(error);
    if (name === 'WorkflowNameTaken') throw new ConfigError(message);
    // Any other error of the host's module appears when the worker loads it.
  }
}

/** Accepts a bundle that the host built itself only if our workflows are in it. */
export function checkHostBundle(bundle: NonNullable<WorkerOptions['workflowBundle']>): void {
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  const missing = findMissing(code);
  if (missing === undefined) return;
  throw new ConfigError(
    `The workflowBundle has no workflow ${missing} of temporal-videogen: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }), or write export * from 'temporal-videogen/workflows' in its workflows.`,
  );
}

function findMissing(code: string): string | undefined {
  const names = Object.entries(ownWorkflows).flatMap(([name, own]) => (isWorkflow(own) ? [name] : []));
  if (!code.includes(OWN_SENTENCE)) return names[0];
  try {
    const exported = loadWorkflowExports(code);
    return names.find((name) => !isWorkflow(exported[name]));
  } catch (error) {
    Runtime.instance().logger.warn('could not check which workflows are in the workflowBundle', { error });
    return undefined;
  }
}

/** A sentence that our workflows contain and a minifier leaves. A name proves nothing: the host may have chosen it too. */
const OWN_SENTENCE = FAILURES.SubmitUnconfirmed.meaning;

/** Workflow modules load in well under a second; a longer wait at a worker's start would look like a hang. */
const LOADING_MAX_MS = 10_000;

/** What a bundle of workflows exports, found by loading it as the SDK's sandbox would. Throws what its modules throw. */
export function loadWorkflowExports(code: string): Record<string, unknown> {
  const context = createContext({
    assert,
    AbortController,
    AsyncLocalStorage,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    console: SILENT_CONSOLE,
    // The SDK's bundles cache their modules there.
    __webpack_module_cache__: {},
    __TEMPORAL_ACTIVATOR__: SOME_WORKFLOW,
  });
  new Script(code).runInContext(context, { timeout: LOADING_MAX_MS });
  const exported: unknown = new Script('__TEMPORAL__.importWorkflows()').runInContext(context, {
    timeout: LOADING_MAX_MS,
  });
  return Object.fromEntries(Object.entries(Object(exported)));
}

/** The modules print again when the worker loads them. */
const SILENT_CONSOLE = { log() {}, warn() {}, error() {}, info() {}, debug() {} };

/** For modules that read the time, a random number or the workflow's info while they load. */
const SOME_WORKFLOW = {
  now: 0,
  random: () => 0,
  currentRandom: () => 0,
  info: { workflowType: '', workflowId: '', runId: '', unsafe: { isReplaying: false } },
  workflowSandboxDestructors: [],
};
