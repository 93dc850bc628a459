/**
 * A plain Temporal workflow: an activity each for submit, poll and download, with Temporal's retries and timeouts. A program
 * that is started again joins the workflow of that id.
 */
const { heartbeat } = require('@temporalio/activity');
const { Client, Connection } = require('@temporalio/client');
const { NativeConnection, Worker } = require('@temporalio/worker');
const { deliver, download, job, run } = require('./support/job.cjs');
const { callService } = require('./support/own-service.cjs');

const HEARTBEAT_EVERY_MS = 1_000;

async function whileBeating(work) {
  const timer = setInterval(heartbeat, HEARTBEAT_EVERY_MS);
  return work().finally(() => clearInterval(timer));
}

run(async () => {
  const address = process.env.TEMPORAL_ADDRESS;
  const service = callService(job);
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    taskQueue: job.name,
    workflowsPath: require.resolve('./support/temporal-workflow.cjs'),
    activities: {
      submit: (prompt, key) => whileBeating(() => service.submit(prompt, key)),
      poll: (taskId) => service.poll(taskId),
      download: (link) => whileBeating(async () => deliver(await download(link))),
    },
  });
  const client = new Client({ connection: await Connection.connect({ address }) });
  await worker.runUntil(() =>
    client.workflow.execute('makeVideo', {
      workflowId: job.name,
      taskQueue: job.name,
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [job.prompt],
    }),
  );
});
