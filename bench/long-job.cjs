/**
 * Runs a job of 30 days and 50,000 polls on a time-skipping server: `npm run bench:long-job`, about 20 min on 2 idle cores.
 * Prints its result, the number of its runs and the length of the longest history. Set `DAYS` and `POLLS`.
 */
const { DefaultLogger, Runtime } = require('@temporalio/worker');
const { createVideoTestEnvironment } = require('../dist/src/testing');
const useTestServers = require('../test/support/use-test-servers.cjs');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const DAYS = setting('DAYS', 30);
const POLLS = setting('POLLS', 50_000);
const DAY_MS = 86_400_000;

/** The length of each run's history, from the first run to the last. */
async function historyLengths(client, workflowId, firstRunId) {
  const lengths = [];
  for (let runId = firstRunId; runId; ) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    lengths.push(events.length);
    runId = events.at(-1).workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return lengths;
}

async function main() {
  await useTestServers();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const env = await createVideoTestEnvironment({
    emulator: { jobTimeMs: DAYS * DAY_MS, videoBytes: 10_000 },
  });
  const { client } = env.temporal;
  const worker = await env.createWorker();
  const intervalMs = (DAYS * DAY_MS) / POLLS;
  const startedAt = Date.now();
  await worker.runUntil(async () => {
    const handle = await client.workflow.start('generateVideo', {
      workflowId: 'long-job',
      taskQueue: 'video-generation',
      args: [
        {
          request: { prompt: 'A slow fox' },
          deadline: `${DAYS + 1}d`,
          polling: { min: intervalMs, max: intervalMs },
        },
      ],
    });
    const { polls, waitedMs } = await handle.result();
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
    const lengths = await historyLengths(client, 'long-job', handle.firstExecutionRunId);
    process.stdout.write(
      `waited ${(waitedMs / DAY_MS).toFixed(2)} days with ${polls} polls, ` +
        `in ${lengths.length} runs with histories of at most ${Math.max(...lengths)} events, ` +
        `for ${env.emulator.generations().length} generation, in ${seconds} s\n`,
    );
  });
  await env.teardown();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
