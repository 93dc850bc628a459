/** The activities of the bare workflows: one HTTP call each, and a file that is simply written. */
const { writeFile } = require('node:fs/promises');
const { join } = require('node:path');
const { request } = require('undici');

exports.bareActivities = ({ url, apiKey, folder }) => {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };

  const ask = async (path, options) => {
    const { statusCode, body } = await request(url + path, { headers, ...options });
    const answer = await body.json();
    if (statusCode > 299) throw new Error(`${path} answered ${statusCode}: ${JSON.stringify(answer)}`);
    return answer;
  };

  return {
    async submit(prompt) {
      const path = '/v1/videos/text-to-video';
      return (await ask(path, { method: 'POST', body: JSON.stringify({ prompt }) })).task_id;
    },
    async poll(taskId) {
      const { status, video_url: link } = await ask(`/v1/videos/${taskId}`);
      return { status, link };
    },
    async download(link, name) {
      const { statusCode, body } = await request(link);
      if (statusCode !== 200) throw new Error(`${name} answered ${statusCode}`);
      const file = join(folder, `${name}.mp4`);
      await writeFile(file, Buffer.from(await body.arrayBuffer()));
      return file;
    },
  };
};
