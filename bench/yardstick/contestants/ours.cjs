/** Our client and plugin in one program, as the README has it. It asks a person when a submit is lost. */
const { copyFileSync, renameSync } = require('node:fs');
const { join } = require('node:path');
const { fileURLToPath } = require('node:url');
const { NativeConnection, Worker } = require('@temporalio/worker');
const { createVideoClient } = require('../../../dist/src');
const { VideoPlugin } = require('../../../dist/src/worker');
const { askPerson, job, run } = require('./support/job.cjs');

run(async () => {
  const address = process.env.TEMPORAL_ADDRESS;
  const env = {
    TEMPORAL_ADDRESS: address,
    VIDEO_API_BASE_URL: job.url,
    VIDEO_API_KEY: job.key,
    VIDEOGEN_STORAGE: join(job.folder, 'videos'),
  };
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    taskQueue: job.name,
    plugins: [new VideoPlugin({ env })],
  });
  const videos = await createVideoClient({ taskQueue: job.name, env });
  await worker.runUntil(async () => {
    const video = await videos.start(
      { request: { prompt: job.prompt }, polling: { min: '1s', max: '1s' } },
      { workflowId: job.name },
    );
    for await (const { phase, hold } of video.follow()) {
      if (phase !== 'needs-decision') continue;
      const { taskId } = await askPerson();
      const decision = taskId ? { decision: 'adopt', taskId } : { decision: 'resubmit' };
      await video.decideSubmit({ ...decision, lostSubmit: hold?.lostSubmit });
    }
    const { video: stored } = await video.result();
    copyFileSync(fileURLToPath(stored.uri), `${job.file}.part`);
    renameSync(`${job.file}.part`, job.file);
  });
});
