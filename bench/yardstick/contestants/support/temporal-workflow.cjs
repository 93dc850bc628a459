const { proxyActivities, sleep, workflowInfo } = require('@temporalio/workflow');

/** Five seconds without a heartbeat mean that the worker is gone. */
const { submit, poll, download } = proxyActivities({ startToCloseTimeout: '30s', heartbeatTimeout: '5s' });

exports.makeVideo = async (prompt) => {
  const taskId = await submit(prompt, workflowInfo().workflowId);
  let link = await poll(taskId);
  while (link === undefined) {
    await sleep('1s');
    link = await poll(taskId);
  }
  await download(link);
};
