import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { version as common } from '@temporalio/common/package.json';
import type { ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { version as worker } from '@temporalio/worker/package.json';
import { version as workflow } from '@temporalio/workflow/package.json';

export const OWN_WORKFLOWS = require.resolve('../../workflows');

/** What of the SDK is in a bundle, and what runs it. */
export const BUNDLED_WITH = { common, worker, workflow };

/** Where `npm run build` puts the bundle of our workflows: beside the compiled ones, so that sources never meet it. */
export function bundlePlaces(folder = dirname(OWN_WORKFLOWS)): { code: string; madeWith: string } {
  return { code: join(folder, 'bundle.js'), madeWith: join(folder, 'bundle.json') };
}

/** The bundle that was built with this package, if it was built with the SDK that is installed. */
export function findBundle(folder?: string, installed: object = BUNDLED_WITH): string | undefined {
  const { code, madeWith } = bundlePlaces(folder);
  try {
    return readFileSync(madeWith, 'utf8') === JSON.stringify(installed) ? code : undefined;
  } catch {
    return undefined;
  }
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

/** A worker without workflows gets ours: the bundle that is there, or one that it makes when it starts. */
export function withOwnWorkflows<Given extends Partial<Options>>(options: Given, find = findBundle): Given {
  if (options.workflowBundle || options.workflowsPath) return options;
  const codePath = wantsItsOwnBundle(options) ? undefined : find();
  return codePath === undefined
    ? { ...options, workflowsPath: OWN_WORKFLOWS }
    : { ...options, workflowBundle: { codePath } };
}

/** What of a worker's options goes into its bundle. */
function wantsItsOwnBundle(options: Partial<Options>): boolean {
  const { bundlerOptions, interceptors, dataConverter, plugins = [], connection } = options;
  return (
    bundlerOptions !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    dataConverter?.payloadConverterPath !== undefined ||
    dataConverter?.failureConverterPath !== undefined ||
    // Others may add to it, and some only tell so when it is made.
    ![...plugins, ...(connection?.plugins ?? [])].every(({ name }) => name.startsWith(PLUGIN_NAME))
  );
}

/** How the names of our own plugins begin. */
export const PLUGIN_NAME = 'temporal-videogen';
