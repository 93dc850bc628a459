/**
 * The AI SDK with fal's models: started and polled, since the operation can be saved. fal's address is built in, so `fetch`
 * leads it here.
 */
const { createFal } = require('@ai-sdk/fal');
const { experimental_getVideoStatus: getVideoStatus, experimental_startVideo: startVideo } = require('ai');
const { deliver, download, job, readNote, run, sleep, TIMEOUT_MS, writeNote } = require('./support/job.cjs');

const POLL_EVERY_MS = 1_000;

run(async () => {
  const fal = createFal({
    apiKey: job.key,
    fetch: (input, init) => fetch(String(input).replace('https://queue.fal.run', job.url), init),
  });
  const model = fal.video('veo3');
  const timeout = () => ({ abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
  let { operation } = readNote();
  if (operation === undefined) {
    const started = await startVideo({ model, prompt: job.prompt, ...timeout() });
    operation = started.operation;
    writeNote({ operation });
  }
  let result = await getVideoStatus(model, { operation, ...timeout() });
  while (result.status === 'pending') {
    await sleep(POLL_EVERY_MS);
    result = await getVideoStatus(model, { operation, ...timeout() });
  }
  if (result.status === 'error') throw new Error(result.error);
  deliver(await download(result.videos[0].url));
});
