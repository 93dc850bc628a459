/** What people write first: submit, poll and download without any safety. The peers of `bench/throughput.cjs`. */
const { proxyActivities, proxyLocalActivities, sleep } = require('@temporalio/workflow');

const TIMEOUT = { startToCloseTimeout: '1 minute' };
const POLL_EVERY_MS = 1_000;

const activities = proxyActivities(TIMEOUT);
const localActivities = proxyLocalActivities(TIMEOUT);

async function makeVideo(prompt, name, poll) {
  const taskId = await activities.submit(prompt);
  for (;;) {
    await sleep(POLL_EVERY_MS);
    const { status, link } = await poll(taskId);
    if (status === 'succeeded') return activities.download(link, name);
    if (status === 'failed') throw new Error('the generation failed');
  }
}

exports.nothing = async () => 'nothing';

exports.bareVideo = (prompt, name) => makeVideo(prompt, name, activities.poll);

exports.bareVideos = (prompts, name) =>
  Promise.all(
    prompts.map((prompt, index) => makeVideo(prompt, `${name}-${index + 1}`, localActivities.poll)),
  );
