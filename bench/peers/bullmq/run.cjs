/** The job on BullMQ as its guide to step jobs has it: each step is stored in the job's data, and a wait frees the worker. */
const { DelayedError, Queue, QueueEvents, Worker } = require('bullmq');
const { fail, POLL_EVERY_MS, readOptions, runCounts } = require('../job.cjs');

async function main() {
  const { port, counts, activities } = readOptions();
  const connection = { host: '127.0.0.1', port };

  const delay = async (job, token) => {
    await job.moveToDelayed(Date.now() + POLL_EVERY_MS, token);
    throw new DelayedError();
  };

  const process = async (job, token) => {
    const { prompt, name, taskId, link } = job.data;
    if (link !== undefined) return activities.download(link, name);
    if (taskId === undefined) {
      await job.updateData({ ...job.data, taskId: await activities.submit(prompt) });
      return delay(job, token);
    }
    const answer = await activities.poll(taskId);
    if (answer.status !== 'succeeded') return delay(job, token);
    await job.updateData({ ...job.data, link: answer.link });
    return activities.download(answer.link, name);
  };

  const queue = new Queue('videos', { connection });
  const events = new QueueEvents('videos', { connection });
  const worker = new Worker('videos', process, { connection, concurrency: Math.max(...counts) });
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()]);
  // One listener an outcome: waitUntilFinished would add listeners for each job.
  const waiting = new Map();
  events.on('completed', ({ jobId }) => waiting.get(jobId)?.resolve());
  events.on('failed', ({ jobId, failedReason }) => waiting.get(jobId)?.reject(new Error(failedReason)));
  await runCounts(counts, (name) => {
    const ended = new Promise((resolve, reject) => waiting.set(name, { resolve, reject }));
    queue.add('video', { prompt: `Video of ${name}`, name }, { jobId: name }).catch(fail);
    return ended;
  });
}

main().catch(fail);
