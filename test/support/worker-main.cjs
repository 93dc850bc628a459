/** A worker as users run it: the built package, configured by the environment, in a process that can be killed. */
const { createVideoWorker } = require('../../dist/src/worker/video-worker');

async function main() {
  const codePath = process.env.VIDEOGEN_TEST_BUNDLE;
  const worker = await createVideoWorker({
    roles: process.env.VIDEOGEN_TEST_ROLES?.split(','),
    // Shorter than the defaults, so that tests need not wait for the sticky queue of a killed worker, or for a draining one.
    worker: {
      stickyQueueScheduleToStartTimeout: '1s',
      shutdownGraceTime: '1s',
      ...(codePath && { workflowBundle: { codePath } }),
    },
  });
  process.send?.('ready');
  await worker.run();
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
