/** Our gateway and worker, and OpenAI's client in front of them. The caller's key makes a repeated POST safe. */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const OpenAI = require('openai').default;
const { askPerson, deliver, job, run, sleep } = require('./support/job.cjs');

const COMMAND = join(__dirname, '../../../dist/src/cli/main.js');

/** Starts a command of ours, and resolves with what it printed up to the line that says that it is ready. */
async function start(args, ready) {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      VIDEOGEN_TASK_QUEUE: job.name,
      VIDEOGEN_STORAGE: join(job.folder, 'videos'),
      VIDEO_API_BASE_URL: job.url,
      VIDEO_API_KEY: job.key,
    },
  });
  let printed = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        process.stderr.write(text);
        printed += text;
        const [, found] = ready.exec(printed) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
    void once(child, 'exit').then(([code]) => reject(new Error(`${args[0]} ended with ${code}.`)));
  });
}

run(async () => {
  const [url] = await Promise.all([
    start(['gateway', '--port', '0'], /(http:\/\/127[^\s/]+)/),
    start(['worker'], /(Working on)/),
  ]);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' });
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
