import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createVideoClient } from 'temporal-videogen';
import { VideoPlugin } from 'temporal-videogen/worker';

async function main() {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const plugins = [new VideoPlugin()];
  // Next to your own workflowsPath and activities.
  const worker = await Worker.create({ connection, namespace, taskQueue: 'my-queue', plugins });
  const videos = await createVideoClient({ taskQueue: 'my-queue' });
  const { video } = await worker.runUntil(() =>
    videos.execute({ request: { prompt: 'A red fox in the snow' } }),
  );
  console.log(video.uri, video.bytes, video.sha256);
  await videos.close();
}

void main();
