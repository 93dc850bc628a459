/** Replicate's client: a prediction, whose id can be saved. */
const Replicate = require('replicate');
const { deliver, download, job, readNote, run, TIMEOUT_MS, writeNote } = require('./support/job.cjs');

run(async () => {
  const replicate = new Replicate({ auth: job.key, baseUrl: `${job.url}/v1` });
  let { id } = readNote();
  if (id === undefined) {
    const created = await replicate.predictions.create({
      model: 'bytedance/seedance-1-pro',
      input: { prompt: job.prompt },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    id = created.id;
    writeNote({ id });
  }
  const prediction = await replicate.wait(await replicate.predictions.get(id));
  if (prediction.status !== 'succeeded') throw new Error(`The prediction is ${prediction.status}.`);
  deliver(await download(prediction.output));
});
