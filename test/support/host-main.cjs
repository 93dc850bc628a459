/** A host's own worker with the plugin and separate queues, in a process that can be ended. */
const { NativeConnection, Runtime, Worker } = require('@temporalio/worker');
const { prometheusMetrics } = require('../../dist/src/worker');
const { VideoPlugin } = require('../../dist/src/worker/video-plugin');

async function main() {
  const { TEMPORAL_ADDRESS: address, VIDEOGEN_TEST_BUNDLE: codePath } = process.env;
  const { VIDEOGEN_TASK_QUEUE: taskQueue = '', VIDEOGEN_TEST_METRICS: metrics } = process.env;
  if (metrics) Runtime.install({ telemetryOptions: { metrics: prometheusMetrics(metrics) } });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue,
    stickyQueueScheduleToStartTimeout: '1s',
    ...(codePath && { workflowBundle: { codePath } }),
    plugins: [new VideoPlugin({ downloadQueue: `${taskQueue}-download` })],
  });
  const running = worker.run();
  process.send?.('ready');
  await running;
  await connection.close();
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
