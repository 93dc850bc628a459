import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type BundleOptions, Runtime, type WorkerOptions } from '@temporalio/worker';
import * as ours from '../../workflows';
import { ConfigError } from '../config/service-config';
import { FAILURES } from '../contract/failure-table';
import { OWN_WORKFLOWS, PLUGIN_NAME } from '../worker/own-workflows';
import { isWorkflow } from './combine';
import { loadWorkflowExports } from './workflow-exports';

const BESIDE_HOST = require.resolve('./beside-host');

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];
type WebpackPlugin = Extract<NonNullable<WebpackConfig['plugins']>[number], { apply: unknown }>;

/** Bundles a host's workflows and ours as one module; a bundler that is set up so already is left alone. */
export function bundleBesideHost(options: BundleOptions): BundleOptions {
  const { workflowsPath, webpackConfigHook: hostHook = (config) => config } = options;
  if ([BESIDE_HOST, OWN_WORKFLOWS].includes(workflowsPath)) return options;
  if (!workflowsPath) return { ...options, workflowsPath: OWN_WORKFLOWS };
  return {
    ...options,
    workflowsPath: BESIDE_HOST,
    webpackConfigHook: (config) => withHost(hostHook(config), resolve(workflowsPath)),
  };
}

function withHost(config: WebpackConfig, hostWorkflows: string): WebpackConfig {
  return {
    ...config,
    plugins: [...(config.plugins ?? []), hostInPlace(hostWorkflows), NAMES_ARE_CHECKED],
  };
}

/** Puts the host's workflows where ours have a module for them, however the host's own hook resolves names. */
function hostInPlace(hostWorkflows: string): WebpackPlugin {
  return {
    apply({ hooks }) {
      hooks.normalModuleFactory.tap(PLUGIN_NAME, (factory) => {
        factory.hooks.beforeResolve.tap(PLUGIN_NAME, (asked) => {
          if (asked.request === './no-host' && asked.contextInfo.issuer === BESIDE_HOST) {
            asked.request = hostWorkflows;
          }
        });
      });
    },
  };
}

/** Loads what was bundled, because the module that combines the workflows knows by then whether a name is taken twice. */
const NAMES_ARE_CHECKED: WebpackPlugin = {
  apply({ hooks }) {
    hooks.emit.tap(PLUGIN_NAME, ({ assets, errors }) => {
      if (errors.length > 0) return;
      for (const asset of Object.values(assets)) namesAreFree(asset.source().toString());
    });
  },
};

function namesAreFree(code: string): void {
  try {
    loadWorkflowExports(code);
  } catch (error) {
    const { name, message } = Object(error);
    if (name === 'NameTaken') throw new ConfigError(message);
    // Whatever else is wrong with them they say when they run; so they do of a name that is taken.
  }
}

/** A bundle that the host built itself is taken as it is, if our workflows are in it. */
export function checkHostBundle(bundle: NonNullable<WorkerOptions['workflowBundle']>): void {
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  const missing = missingFrom(code);
  if (missing === undefined) return;
  throw new ConfigError(
    `The workflowBundle has no workflow ${missing} of temporal-videogen: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }), or write export * from 'temporal-videogen/workflows' in its workflows.`,
  );
}

function missingFrom(code: string): string | undefined {
  const names = Object.entries(ours).flatMap(([name, own]) => (isWorkflow(own) ? [name] : []));
  if (!code.includes(OF_OURS)) return names[0];
  try {
    const exported = loadWorkflowExports(code);
    return names.find((name) => !isWorkflow(exported[name]));
  } catch (error) {
    Runtime.instance().logger.warn('could not see which workflows are in the workflowBundle', { error });
    return undefined;
  }
}

/** A sentence that our workflows bring along and a minifier leaves: a host may have a workflow of the same name. */
const OF_OURS = FAILURES.SubmitUnconfirmed.meaning;
