/** Callers that do nothing wrong, in a process of their own: their times are not those of the attackers' process. */
const { setTimeout: sleep } = require('node:timers/promises');
const { Agent, request } = require('undici');

const PAUSE_MS = 100;
let times = [];
let errors = [];

process.on('message', (asked) => {
  if (asked === 'times') {
    process.send({ times, errors });
    times = [];
    errors = [];
  } else {
    const dispatcher = new Agent({ connections: asked.callers });
    for (let index = 0; index < asked.callers; index++) void callOften({ ...asked, dispatcher });
  }
});
process.once('disconnect', () => process.exit());

async function callOften({ url, key, running, ended, dispatcher }) {
  const authorization = `Bearer ${key}`;
  const json = { authorization, 'content-type': 'application/json', 'idempotency-key': 'honest' };
  const calls = [
    { path: `/v1/videos/${running}`, headers: { authorization } },
    { path: `/v1/videos/${ended}`, headers: { authorization } },
    { path: `/v1/videos/${ended}/content`, headers: { authorization, range: 'bytes=0-65535' } },
    { path: '/v1/videos', method: 'POST', headers: json, body: '{"prompt":"An honest fox"}' },
  ];
  for (let turn = 0; ; turn++) {
    const { path, ...options } = calls[turn % calls.length];
    const startedAt = performance.now();
    try {
      const { statusCode, body } = await request(`${url}${path}`, { dispatcher, ...options });
      await body.dump({ limit: Number.POSITIVE_INFINITY });
      if (statusCode >= 300) errors.push(`${path} answered ${statusCode}`);
    } catch (error) {
      errors.push(`${path}: ${error}`);
    }
    times.push(performance.now() - startedAt);
    await sleep(PAUSE_MS);
  }
}
