/** The job on DBOS: a workflow with a step for each call, and its durable sleep. */
const { DBOS } = require('@dbos-inc/dbos-sdk');
const { fail, POLL_EVERY_MS, readOptions, runCounts } = require('../job.cjs');

async function main() {
  const { port, counts, activities } = readOptions();
  const step = (name, call) => DBOS.runStep(call, { name });

  const makeVideo = DBOS.registerWorkflow(
    async (prompt, name) => {
      const taskId = await step('submit', () => activities.submit(prompt));
      for (;;) {
        await DBOS.sleep(POLL_EVERY_MS);
        const { status, link } = await step('poll', () => activities.poll(taskId));
        if (status === 'succeeded') return step('download', () => activities.download(link, name));
        if (status === 'failed') throw new Error('the generation failed');
      }
    },
    { name: 'makeVideo' },
  );

  DBOS.setConfig({
    name: 'videogen-bench',
    systemDatabaseUrl: `postgresql://postgres@127.0.0.1:${port}/dbos`,
    logLevel: 'error',
    runAdminServer: false,
  });
  await DBOS.launch();
  await runCounts(counts, (name) => makeVideo(`Video of ${name}`, name));
}

main().catch(fail);
