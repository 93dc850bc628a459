/** Runway's SDK: a task, whose id can be saved. The SDK retries and polls by itself. */
const RunwayML = require('@runwayml/sdk').default;
const { deliver, download, job, readNote, run, TIMEOUT_MS, writeNote } = require('./support/job.cjs');

run(async () => {
  const client = new RunwayML({ apiKey: job.key, baseURL: job.url, timeout: TIMEOUT_MS });
  let { id } = readNote();
  if (id === undefined) {
    const created = await client.textToVideo.create({
      model: 'gen4.5',
      promptText: job.prompt,
      ratio: '1280:720',
      duration: 5,
    });
    id = created.id;
    writeNote({ id });
  }
  const task = await client.tasks.retrieve(id).waitForTaskOutput();
  deliver(await download(task.output[0]));
});
