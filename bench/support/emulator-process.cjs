/**
 * The emulator in a process of its own, as a service is. `submitLimit: { perSecond, burst }` adds a rate limit, which the
 * emulator does not have: a front that refuses submits with 429, without Retry-After, and hands on everything else.
 */
const { fork } = require('node:child_process');
const { once } = require('node:events');
const { createServer, request: send } = require('node:http');

/** Starts it: `{ url, apiKey, report(), close() }`. The report has all submits with their status, and all tasks. */
exports.startEmulatorProcess = async (options) => {
  const child = fork(__filename, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ask = async (message) => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
  const { url, apiKey } = await ask({ start: options });
  return {
    url,
    apiKey,
    report: () => ask({ report: true }),
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
};

/** A token bucket. A service refuses what finds it empty. */
class Bucket {
  constructor({ perSecond, burst }) {
    this.perMs = perSecond / 1_000;
    this.burst = burst;
    this.tokens = burst;
    this.filledAt = performance.now();
  }

  take() {
    const now = performance.now();
    this.tokens = Math.min(this.burst, this.tokens + (now - this.filledAt) * this.perMs);
    this.filledAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}

/** Links in answers name the front too, since the emulator uses the caller's Host. */
async function startFront(target, limit, submits) {
  const bucket = new Bucket(limit);
  const front = createServer((request, response) => {
    const isSubmit = request.method === 'POST';
    const isRefused = isSubmit && !bucket.take();
    if (isSubmit) submits.push({ atMs: Date.now(), status: isRefused ? 429 : 200 });
    if (isRefused) {
      request.resume();
      response.writeHead(429, { 'content-type': 'application/json' });
      return response.end('{"error":{"code":"rate_limited","message":"too many requests"}}');
    }
    const { method, headers, url } = request;
    const onward = send(new URL(url, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    request.pipe(onward);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return `http://127.0.0.1:${front.address().port}`;
}

function serve() {
  const { startEmulator } = require('../../dist/src/testing/emulator');
  const submits = [];
  let emulator;
  const handlers = {
    async start({ submitLimit, ...options }) {
      const onCall = ({ call, status }) => {
        if (submitLimit === undefined && call === 'submit') submits.push({ atMs: Date.now(), status });
      };
      emulator = await startEmulator({ ...options, onCall });
      const url = submitLimit ? await startFront(emulator.url, submitLimit, submits) : emulator.url;
      return { url, apiKey: emulator.apiKey };
    },
    report: async () => ({
      nowMs: Date.now(),
      submits,
      tasks: emulator.generations().map((task) => ({
        prompt: task.request.prompt,
        submittedAtMs: task.submittedAtMs,
        endsAtMs: emulator.endOf(task),
      })),
    }),
  };
  process.on('message', async (message) => {
    const [[name, options]] = Object.entries(message);
    process.send(await handlers[name](options));
  });
  process.once('disconnect', () => process.exit());
}

if (require.main === module) serve();
