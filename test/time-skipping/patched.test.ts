import { randomUUID } from 'node:crypto';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type * as workflows from '../support/changed-workflows';
import { captureLogs } from '../support/logs';

type Release = keyof typeof workflows;

let env: VideoTestEnvironment;
let workflowBundle: { code: string };
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../support/changed-workflows'),
    logger: new DefaultLogger('ERROR'),
  });
});
afterAll(() => env.teardown());

/** The history of a job that ran on this release. */
async function historyOn(release: Release): Promise<string> {
  const taskQueue = randomUUID();
  const { nativeConnection: connection, client } = env.temporal;
  const worker = await Worker.create({ connection, taskQueue, workflowBundle });
  const handle = await worker.runUntil(async () => {
    const started = await client.workflow.start(release, { taskQueue, workflowId: randomUUID() });
    await started.result();
    return started;
  });
  return JSON.stringify(JSON.parse(historyToJSON(await handle.fetchHistory())));
}

async function replay(history: string, { on, from }: { on: Release; from: Release }): Promise<void> {
  const renamed = JSON.parse(history.replaceAll(`"name":"${from}"`, `"name":"${on}"`));
  await Worker.runReplayHistory({ workflowBundle }, historyFromJSON(renamed), 'film');
}

test('a change behind a patch replays older and newer jobs, and the same change without a patch does not', async () => {
  const older = await historyOn('before');
  await replay(older, { from: 'before', on: 'behindPatch' });
  await expect(replay(older, { from: 'before', on: 'unpatched' })).rejects.toThrow(/[Nn]ondeterminism/);

  const newer = await historyOn('behindPatch');
  await replay(newer, { from: 'behindPatch', on: 'behindPatch' });
});

test('a patch can be deprecated when no older job is left, and removed when no job has its marker', async () => {
  const newer = await historyOn('behindPatch');
  await replay(newer, { from: 'behindPatch', on: 'patchDeprecated' });
  await expect(replay(newer, { from: 'behindPatch', on: 'unpatched' })).rejects.toThrow(/[Nn]ondeterminism/);

  const last = await historyOn('patchDeprecated');
  await replay(last, { from: 'patchDeprecated', on: 'patchDeprecated' });
});
