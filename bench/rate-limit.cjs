/**
 * Measures how well 100 jobs share a service that runs 5 tasks at a time and answers 429 beyond that:
 * `npm run bench:rate-limit`, 7 min. Prints how busy the 5 slots were from the first to the last submit, and how many submits
 * were refused. Set `JOBS`, `SLOTS`, `JOB_SECONDS` and `WORKERS` (each has its own rate limiter, as in its own process).
 */
const { DefaultLogger, Runtime } = require('@temporalio/worker');
const { createVideoClient } = require('../dist/src/client/video-client');
const { createVideoTestEnvironment } = require('../dist/src/testing');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const JOBS = setting('JOBS', 100);
const SLOTS = setting('SLOTS', 5);
const JOB_MS = setting('JOB_SECONDS', 20) * 1_000;
const WORKERS = setting('WORKERS', 1);

/** How much of the slots' time from the first to the last submit had a task. */
function busyShare(tasks, endOf) {
  const submits = tasks.map((task) => task.submittedAtMs);
  const [from, to] = [Math.min(...submits), Math.max(...submits)];
  const worked = tasks.map((task) => Math.max(0, Math.min(endOf(task), to) - task.submittedAtMs));
  return worked.reduce((sum, ms) => sum + ms, 0) / (SLOTS * (to - from));
}

async function main() {
  // Each refusal would log a warning of many lines.
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: JOB_MS, concurrentTasks: SLOTS, videoBytes: 10_000, clock: Date.now },
  });
  const { emulator, temporal } = env;
  const workers = [];
  for (let i = 0; i < WORKERS; i++) workers.push(await env.createWorker());
  const running = workers.map((worker) => worker.run());
  const videos = await createVideoClient({ client: temporal.client, taskQueue: 'video-generation' });
  const startedAt = Date.now();
  const jobs = [];
  for (let i = 0; i < JOBS; i++) {
    const input = { request: { prompt: `Fox ${i}` }, deadline: '2h', polling: { min: '1s', max: '5s' } };
    jobs.push(await videos.start(input));
  }
  await Promise.all(jobs.map((job) => job.result()));
  const submits = emulator.calls.filter(({ call }) => call === 'submit');
  const refused = submits.filter(({ status }) => status === 429);
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  process.stdout.write(
    `${JOBS} jobs of ${JOB_MS / 1_000} s, ${SLOTS} slots, ${WORKERS} worker(s): ` +
      `slots busy ${percent(busyShare(emulator.generations(), emulator.endOf))}, ` +
      `${refused.length} of ${submits.length} submits answered 429 (${percent(refused.length / submits.length)}), ` +
      `${emulator.generations().length} generations, ${((Date.now() - startedAt) / 1_000).toFixed(0)} s\n`,
  );
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await env.teardown();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
