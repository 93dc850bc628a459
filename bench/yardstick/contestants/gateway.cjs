/** Our gateway and worker, and OpenAI's client in front of them. The caller's key makes a repeated POST safe. */
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const OpenAI = require('openai').default;
const { askPerson, deliver, freePort, job, run, sleep, startPart } = require('./support/job.cjs');

const COMMAND = join(__dirname, '../../../dist/src/cli/main.js');
const PROFILE = { polling: { min: '1s', max: '1s' } };

function start(args, ready) {
  const profile = join(job.folder, 'profile.json');
  writeFileSync(profile, JSON.stringify(PROFILE));
  const env = {
    VIDEOGEN_TASK_QUEUE: job.name,
    VIDEOGEN_STORAGE: join(job.folder, 'videos'),
    VIDEOGEN_PROFILE: profile,
    VIDEO_API_BASE_URL: job.url,
    VIDEO_API_KEY: job.key,
  };
  return startPart(process.execPath, [COMMAND, ...args], { ready, env });
}

run(async () => {
  const port = String(await freePort());
  await Promise.all([start(['gateway', '--port', port], /http:\/\/127/), start(['worker'], /Working on/)]);
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none' });
  let video = await client.videos.create(
    { prompt: job.prompt, seconds: '4', size: '1280x720' },
    { headers: { 'Idempotency-Key': job.name } },
  );
  while (video.status !== 'completed' && video.status !== 'failed') {
    await sleep(1_000);
    video = await client.videos.retrieve(video.id);
    if (!video.needs_decision) continue;
    const { taskId } = await askPerson();
    const body = taskId ? { decision: 'adopt', taskId } : { decision: 'resubmit' };
    await client.post(`/videos/${video.id}/decision`, { body });
  }
  if (video.status === 'failed') throw new Error(video.error?.message);
  const content = await client.videos.downloadContent(video.id);
  deliver(Buffer.from(await content.arrayBuffer()));
});
