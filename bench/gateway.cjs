/**
 * Measures the gateway: `npm run bench:gateway`, 3 min. Prints status reads a second with 1,000 running jobs beside a bare
 * fastify route in the same process, and how long a POST takes until its task_id is there. All on this machine. Set `JOBS`,
 * `SECONDS` and `CONNECTIONS`.
 */
const { fork } = require('node:child_process');
const Fastify = require('fastify');
const { DefaultLogger, Runtime } = require('@temporalio/worker');
const { Client, Connection } = require('@temporalio/client');
const { Agent, request } = require('undici');
const { createVideoGateway } = require('../dist/src/gateway');
const { createVideoTestEnvironment } = require('../dist/src/testing');

const setting = (name, defaultValue) => Number(process.env[name] ?? defaultValue);
const JOBS = setting('JOBS', 1_000);
const MEASURE_MS = setting('SECONDS', 10) * 1_000;
const CONNECTIONS = setting('CONNECTIONS', 16);
/** As many as a page and a few programs send at the same time. */
const POSTS_AT_A_TIME = 4;

const dispatcher = new Agent({ connections: CONNECTIONS });

/** Calls until `isOver`, on several connections; resolves with the milliseconds of each call. */
async function load(connections, isOver, call) {
  const times = [];
  const one = async () => {
    while (!isOver(times.length)) {
      const startedAt = performance.now();
      await call();
      times.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  return { times: times.sort((a, b) => a - b), seconds: (performance.now() - startedAt) / 1_000 };
}

const during = (ms) => {
  const endsAt = performance.now() + ms;
  return () => performance.now() > endsAt;
};

async function get(url) {
  const { statusCode, body } = await request(url, { dispatcher });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`);
  return text;
}

async function post(url, content) {
  const { statusCode, body } = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(content),
  });
  const answer = await body.json();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${JSON.stringify(answer)}`);
  return answer;
}

function row(name, { times, seconds }) {
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
  const cells = [name.padEnd(44), `${(times.length / seconds).toFixed(0)}/s`.padStart(9)];
  return `${cells.join('')}   p50 ${at(0.5).padStart(6)} ms   p99 ${at(0.99).padStart(6)} ms   max ${at(1).padStart(7)} ms\n`;
}

/** The gateway and the bare route, in a process of their own. */
async function serve({ address, namespace, storage }) {
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: storage, VIDEOGEN_GATEWAY_LOG: 'errors' },
    client,
    port: 0,
  });
  const bare = Fastify();
  bare.get('/v1/videos/:id', async ({ params }) => ({ id: params.id, status: 'in_progress' }));
  const bareUrl = await bare.listen({ host: '127.0.0.1', port: 0 });
  process.on('disconnect', async () => {
    await Promise.all([gateway.close(), bare.close()]);
    await client.connection.close();
  });
  process.send({ url: gateway.url, bareUrl });
}

async function main() {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  // The tasks last for longer than the bench, so that all jobs are running when their state is read.
  const env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 3_600_000 } });
  const worker = await env.createWorker();
  const running = worker.run();
  const child = fork(__filename, ['serve']);
  const { url, bareUrl } = await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`The gateway ended with ${code}.`)));
    child.send({
      address: env.temporal.address,
      namespace: env.temporal.client.options.namespace,
      storage: env.storageFolder,
    });
  });
  try {
    const ids = [];
    let begun = 0;
    const posts = await load(
      POSTS_AT_A_TIME,
      () => begun++ >= JOBS,
      async () => {
        const { task_id: id } = await post(`${url}/v1/videos/text-to-video`, { prompt: `Fox ${begun}` });
        ids.push(id);
      },
    );
    process.stdout.write(row(`POST to task_id, ${POSTS_AT_A_TIME} at a time`, posts));
    let next = 0;
    const path = () => `/v1/videos/${ids[next++ % ids.length]}`;
    for (const [name, call] of [
      ['a bare fastify route', () => get(`${bareUrl}${path()}`)],
      [`status of one of ${ids.length} running jobs`, () => get(`${url}${path()}`)],
      ['status of one job that many poll', () => get(`${url}/v1/videos/${ids[0]}`)],
    ]) {
      process.stdout.write(row(name, await load(CONNECTIONS, during(MEASURE_MS), call)));
    }
    const { count } = await env.temporal.client.workflow.count(`ExecutionStatus = 'Running'`);
    process.stdout.write(`${count} jobs were running at the end; ${CONNECTIONS} connections.\n`);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.disconnect();
    await ended;
    await dispatcher.close();
    worker.shutdown();
    await running;
    await env.teardown();
  }
}

function fail(error) {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
}

if (process.argv[2] === 'serve') process.once('message', (options) => serve(options).catch(fail));
else main().catch(fail);
