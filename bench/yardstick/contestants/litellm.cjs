/** LiteLLM's proxy, and OpenAI's client in front of its `/v1/videos`. The video's id can be saved. */
const { randomBytes } = require('node:crypto');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const OpenAI = require('openai').default;
const { deliver, freePort, job, readNote, run, sleep, startPart, writeNote } = require('./support/job.cjs');

const POLL_EVERY_MS = 1_000;
const MASTER_KEY = `sk-${randomBytes(32).toString('hex')}`;

const CONFIG = `model_list:
  - model_name: sora-2
    litellm_params:
      model: openai/sora-2
      api_base: ${job.url}/v1
      api_key: ${job.key}
litellm_settings:
  request_timeout: 10
general_settings:
  master_key: ${MASTER_KEY}
`;

run(async () => {
  const config = join(job.folder, 'config.yaml');
  writeFileSync(config, CONFIG);
  const port = String(await freePort());
  // What its command `litellm` does, which pip makes for the folder that a package was installed in.
  const command = ['-c', 'from litellm import run_server; run_server()'];
  await startPart(
    process.env.PYTHON,
    [...command, '--config', config, '--host', '127.0.0.1', '--port', port],
    {
      ready: /Uvicorn running/,
      // Its list of prices, which it otherwise fetches at each start.
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    },
  );
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: MASTER_KEY });
  let { id } = readNote();
  if (id === undefined) {
    const created = await client.videos.create({
      model: 'sora-2',
      prompt: job.prompt,
      seconds: '4',
      size: '1280x720',
    });
    id = created.id;
    writeNote({ id });
  }
  let video = await client.videos.retrieve(id);
  while (video.status !== 'completed') {
    if (video.status === 'failed') throw new Error(video.error?.message);
    await sleep(POLL_EVERY_MS);
    video = await client.videos.retrieve(id);
  }
  const content = await client.videos.downloadContent(id);
  deliver(Buffer.from(await content.arrayBuffer()));
});
