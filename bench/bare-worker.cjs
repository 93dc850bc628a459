/**
 * The least that a worker of Temporal's SDK can be: an empty workflow in a prebuilt bundle, an empty activity, no logs. Run by
 * `bench/start.cjs` as `node bench/bare-worker.cjs BUNDLE`, as the floor that ours is compared with.
 */
const { DefaultLogger, NativeConnection, Runtime, Worker } = require('@temporalio/worker');

async function main() {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
  const worker = await Worker.create({
    connection,
    taskQueue: process.env.VIDEOGEN_TASK_QUEUE,
    workflowBundle: { codePath: process.argv[2] },
    activities: { doNothing: async () => undefined },
  });
  await worker.run();
  await connection.close();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
