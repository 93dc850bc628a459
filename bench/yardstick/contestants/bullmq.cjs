/** A BullMQ job with retries and backoff, in steps as its guide has them: each is stored, and a wait frees the worker. */
const { DelayedError, Queue, QueueEvents, Worker } = require('bullmq');
const { deliver, download, job, run } = require('./support/job.cjs');
const { callService } = require('./support/own-service.cjs');

const POLL_EVERY_MS = 1_000;
/** A job of a worker that was killed is taken up after this time. */
const LOCK_MS = 5_000;

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) };
const service = callService(job);

async function makeVideo(step, token) {
  const { taskId, prompt } = step.data;
  const delay = async () => {
    await step.moveToDelayed(Date.now() + POLL_EVERY_MS, token);
    throw new DelayedError();
  };
  if (taskId === undefined) {
    await step.updateData({ ...step.data, taskId: await service.submit(prompt, step.id) });
    return delay();
  }
  const link = await service.poll(taskId);
  if (link === undefined) return delay();
  deliver(await download(link));
}

run(async () => {
  const queue = new Queue(job.name, { connection });
  const events = new QueueEvents(job.name, { connection });
  await events.waitUntilReady();
  // A job of that id that exists is not added again.
  const added = await queue.add(
    'video',
    { prompt: job.prompt },
    { jobId: job.name, attempts: 5, backoff: { type: 'exponential', delay: 1_000 } },
  );
  const worker = new Worker(job.name, makeVideo, {
    connection,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
  });
  await worker.waitUntilReady();
  await added.waitUntilFinished(events);
});
