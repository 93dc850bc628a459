import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { VideoPlugin } from 'temporal-videogen/worker';

/** Runs your workflows and activities next to those that make videos, until Ctrl-C. */
async function main() {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const worker = await Worker.create({
    connection: await NativeConnection.connect(connectionOptions),
    ...(namespace && { namespace }),
    taskQueue: 'posters',
    workflowsPath: require.resolve('./video-workflows'),
    plugins: [new VideoPlugin()],
  });
  await worker.run();
}

void main();
