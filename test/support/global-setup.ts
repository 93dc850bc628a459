import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import installAiSdkPackages from './ai-sdk-packages.cjs';
import { useTestServers } from './temporal-servers';

/** Finds Temporal's servers and bundles the workflows, once for all test files. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalSetup(): Promise<void> {
  await installAiSdkPackages();
  await useTestServers();
  const code = withMutant() ?? (await bundle());
  const codePath = join(mkdtempSync(join(tmpdir(), 'videogen-bundle-')), 'workflows.js');
  writeFileSync(codePath, code);
  process.env.VIDEOGEN_TEST_BUNDLE = codePath;
}

async function bundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../workflows'),
    logger: new DefaultLogger('WARN'),
  });
  return code;
}

/** The workflows with one of their mutants, when `npm run mutants` runs the tests, or noting those that are reached. */
function withMutant(): string | undefined {
  const { VIDEOGEN_MUTATED_BUNDLE: path, VIDEOGEN_MUTANT: mutant } = process.env;
  if (!path) return undefined;
  // A class of Node in Temporal's sandbox leads out of it.
  const reached = "AsyncLocalStorage.constructor('return globalThis.__reached__')()";
  const begin =
    mutant === undefined
      ? `globalThis.__reached__ = ${reached};`
      : `globalThis.__mutant__ = ${JSON.stringify(mutant)};`;
  return `${begin}\n${readFileSync(path, 'utf8')}`;
}
