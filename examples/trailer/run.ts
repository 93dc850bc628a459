import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createFileStorage, readFailure } from 'temporal-videogen';
import { VideoPlugin } from 'temporal-videogen/plugin';
import { createTrailerActivities } from './activities';
import { openEnvironment } from './environment';
import { storyboard } from './storyboard';
import { makeTrailer, type Trailer } from './workflows';

const taskQueue = 'trailers';

/** The same storyboard is the same trailer, unless the command line names another. */
const digest = createHash('sha256').update(JSON.stringify(storyboard)).digest('hex');
const [workflowId = `trailer-${digest.slice(0, 8)}`] = process.argv.slice(2);

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const { connection, namespace, service, close } = await openEnvironment();
  try {
    const storage = createFileStorage(process.env.VIDEOGEN_STORAGE ?? 'videos');
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowsPath: require.resolve('./workflows'),
      activities: createTrailerActivities(storage),
      plugins: [new VideoPlugin({ service, storage })],
    });
    console.error(`Making ${workflowId} of ${storyboard.length} shots.`);
    const { trailer, poster } = await worker.runUntil(() =>
      startOrJoin(new Client({ connection, namespace })),
    );
    for (const uri of [trailer, poster]) console.log(relative('.', fileURLToPath(uri)));
  } finally {
    await close();
  }
}

/** Joins a trailer that is finished or in progress, so that it is not paid for twice. */
async function startOrJoin(client: Client): Promise<Trailer> {
  try {
    return await client.workflow.execute(makeTrailer, {
      taskQueue,
      workflowId,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [storyboard],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return client.workflow.getHandle<typeof makeTrailer>(workflowId).result();
  }
}

main().catch((error: unknown) => {
  const failure = readFailure(error);
  console.error(failure?.message ?? error);
  process.exitCode = failure?.exitCode ?? 1;
});
