import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { VideoRequest } from 'temporal-videogen';
import { readFailure } from 'temporal-videogen/failures';
import { createFileStorage, VideoPlugin, type VideoStorage } from 'temporal-videogen/worker';
import { openEnvironment } from './environment';
import { storyboard } from './storyboard';

export interface Making<Made> {
  what: string;
  workflow: (storyboard: VideoRequest[]) => Promise<Made>;
  workflowsPath: string;
  createActivities: (storage: VideoStorage) => object;
  /** The URIs to print. */
  filesOf: (made: Made) => string[];
}

/** Runs a worker with the plugin until the workflow has ended, and prints where its files are. */
export function makeOnce<Made>(making: Making<Made>): void {
  make(making).catch((error: unknown) => {
    const failure = readFailure(error);
    console.error(failure?.message ?? error);
    process.exitCode = failure?.exitCode ?? 1;
  });
}

async function make<Made>(making: Making<Made>): Promise<void> {
  const { what, workflowsPath, createActivities, filesOf } = making;
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { connection, namespace, service, close } = await openEnvironment();
  try {
    const storage = createFileStorage(process.env.VIDEOGEN_STORAGE ?? 'videos');
    const taskQueue = `${what}s`;
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowsPath,
      activities: createActivities(storage),
      plugins: [new VideoPlugin({ service, storage })],
    });
    // The same storyboard is the same work, unless the command line gives it another name.
    const digest = createHash('sha256').update(JSON.stringify(storyboard)).digest('hex');
    const [workflowId = `${what}-${digest.slice(0, 8)}`] = process.argv.slice(2);
    console.error(`Making ${workflowId} of ${storyboard.length} shots.`);
    const client = new Client({ connection, namespace });
    const made = await worker.runUntil(() => startOrJoin(client, making, { taskQueue, workflowId }));
    for (const uri of filesOf(made)) console.log(relative('.', fileURLToPath(uri)));
  } finally {
    await close();
  }
}

/** Joins what is finished or in progress, so that it is not paid for twice. */
async function startOrJoin<Made>(
  client: Client,
  { workflow }: Making<Made>,
  { taskQueue, workflowId }: { taskQueue: string; workflowId: string },
): Promise<Made> {
  try {
    return await client.workflow.execute(workflow, {
      taskQueue,
      workflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
      // One that failed begins again. Its shots that are stored are not paid for again.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      args: [storyboard],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return client.workflow.getHandle<typeof workflow>(workflowId).result();
  }
}
