import { randomUUID } from 'node:crypto';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { WorkerRole } from '../../src/worker/video-worker';
import { captureLogs } from '../support/logs';
import { withConstants } from '../support/short-histories';
import { quickWorkflows, untilProgress } from '../support/world';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
});
afterAll(() => env.teardown());

test('a job whose submits or downloads nobody serves shows the queue, until somebody does', async () => {
  const taskQueue = `split-${randomUUID()}`;
  const downloadQueue = `${taskQueue}-downloads`;
  const workflowBundle = withConstants({ ASK_AFTER_MS: 500 });
  const createWorker = (role: WorkerRole) =>
    env.createWorker({
      taskQueue,
      downloadQueue,
      roles: [role],
      worker: { ...quickWorkflows(), workflowBundle },
    });
  const [jobs, submits, downloads] = await Promise.all([
    createWorker('jobs'),
    createWorker('submits'),
    createWorker('downloads'),
  ]);
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  await jobs.runUntil(async () => {
    const polling = { min: '1s', max: '1s' };
    const job = await videos.start({ request: { prompt: 'a fox' }, polling });
    const handle = env.temporal.client.workflow.getHandle(job.workflowId);
    const details = async () =>
      (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
    await untilProgress(job, ({ unservedQueue }) => unservedQueue === `${taskQueue}-submit`);
    expect(await details()).toContain(`No worker serves the task queue \`${taskQueue}-submit\``);
    await submits.runUntil(async () => {
      const { phase } = await untilProgress(job, ({ unservedQueue }) => unservedQueue === downloadQueue);
      expect(phase).toBe('downloading');
      expect(await details()).toContain(`No worker serves the task queue \`${downloadQueue}\``);
    });
    await downloads.runUntil(job.result());
    expect(await job.progress()).not.toHaveProperty('unservedQueue');
    expect(await details()).not.toContain('No worker serves');
  });
});
