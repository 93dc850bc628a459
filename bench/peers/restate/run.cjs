/** The job on Restate: a handler with a run for each call, and its durable sleep. */
const { once } = require('node:events');
const { createServer } = require('node:http2');
require('./node-20.cjs');
const restate = require('@restatedev/restate-sdk');
const clients = require('@restatedev/restate-sdk-clients');
const { fail, POLL_EVERY_MS, readOptions, runCounts } = require('../job.cjs');

async function main() {
  const { port, adminPort, counts, activities } = readOptions();

  const videos = restate.service({
    name: 'videos',
    handlers: {
      make: async (context, { prompt, name }) => {
        const taskId = await context.run('submit', () => activities.submit(prompt));
        for (;;) {
          await context.sleep(POLL_EVERY_MS);
          const { status, link } = await context.run('poll', () => activities.poll(taskId));
          if (status === 'succeeded') return context.run('download', () => activities.download(link, name));
          if (status === 'failed') throw new restate.TerminalError('the generation failed');
        }
      },
    },
  });

  const endpoint = createServer(restate.createEndpointHandler({ services: [videos] }));
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const uri = `http://127.0.0.1:${endpoint.address().port}`;
  const registered = await fetch(`http://127.0.0.1:${adminPort}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri }),
  });
  if (!registered.ok) throw new Error(`Restate refused the service: ${await registered.text()}`);

  const client = clients.connect({ url: `http://127.0.0.1:${port}` }).serviceClient(videos);
  await runCounts(counts, (name) => client.make({ prompt: `Video of ${name}`, name }));
}

main().catch(fail);
