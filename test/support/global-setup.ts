import { mkdtempSync, writeFileSync } from 'node:fs';
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
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../workflows'),
    logger: new DefaultLogger('WARN'),
  });
  const codePath = join(mkdtempSync(join(tmpdir(), 'videogen-bundle-')), 'workflows.js');
  writeFileSync(codePath, code);
  process.env.VIDEOGEN_TEST_BUNDLE = codePath;
}
