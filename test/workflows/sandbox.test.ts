import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

test('the workflows bundle for the sandbox without ignored modules, and without zod or undici', async () => {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../workflows'),
    logger: new DefaultLogger('ERROR'),
  });
  expect(code).toContain('./workflows/generate-video.ts');
  expect(code).toContain('./src/contract/video-failure.ts');
  expect(code).not.toContain('node_modules/zod');
  expect(code).not.toContain('node_modules/undici');
  expect(code).not.toContain('./src/contract/request.ts');
  expect(code).not.toMatch(/\.\/(activities|src\/(service|storage|temporal-server|emulator))\//);
});
