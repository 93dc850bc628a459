/** A worker as users run it: the built package, configured by the environment, in a process that can be killed. */
const { createVideoWorker } = require('../../dist/src/worker/video-worker');

async function main() {
  const codePath = process.env.VIDEOGEN_TEST_BUNDLE;
  const worker = await createVideoWorker({
    roles: process.env.VIDEOGEN_TEST_ROLES?.split(','),
    // A killed worker's sticky queue is given up, and a draining worker's grace is over, sooner than by default, so that
    // the tests need not wait for it.
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
