/** fal's client: its queue, since a request id can be saved. It has its own address built in, so `fetch` leads it here. */
const { createFalClient } = require('@fal-ai/client');
const { deliver, download, job, readNote, run, TIMEOUT_MS, writeNote } = require('./support/job.cjs');

const MODEL = 'fal-ai/bytedance/seedance/v1/pro/text-to-video';

run(async () => {
  const fal = createFalClient({
    credentials: job.key,
    fetch: (input, init) => fetch(String(input).replace('https://queue.fal.run', job.url), init),
  });
  let { requestId } = readNote();
  if (requestId === undefined) {
    const { request_id } = await fal.queue.submit(MODEL, {
      input: { prompt: job.prompt },
      abortSignal: AbortSignal.timeout(TIMEOUT_MS),
    });
    requestId = request_id;
    writeNote({ requestId });
  }
  await fal.queue.subscribeToStatus(MODEL, { requestId });
  const { data } = await fal.queue.result(MODEL, { requestId });
  deliver(await download(data.video.url));
});
