import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { version as activity } from '@temporalio/activity/package.json';
import { version as client } from '@temporalio/client/package.json';
import { version as common } from '@temporalio/common/package.json';
import { version as plugin } from '@temporalio/plugin/package.json';
import type { ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { version as worker } from '@temporalio/worker/package.json';
import { version as workflow } from '@temporalio/workflow/package.json';

/** The names of all our plugins start with it. */
export const PLUGIN_NAME = 'temporal-videogen';

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

/** Whether a bundle that a host built contains a text, which a minifier leaves. */
export function isInBundle(text: string, bundle: NonNullable<WorkerOptions['workflowBundle']>): boolean {
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  return code.includes(text);
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
