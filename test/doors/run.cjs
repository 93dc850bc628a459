/**
 * Attacks a gateway on this machine while honest callers use it: `npm run test:doors`, 3 min. Prints for each attack the memory
 * of the gateway, how long the honest callers wait, and what is left when the attackers have gone; exits with 1 beyond the
 * bounds. `--short` is what the tests run, and `--minutes 10` is all attacks at once, for that long;
 * `--only TEXT` takes the attacks with that text in their names.
 */
const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { DefaultLogger, Runtime } = require('@temporalio/worker');
const { endWithParent } = require('../../dist/src/temporal-server/child-process');
const { makeKey } = require('../../dist/src/gateway/gateway-keys');
const { freePort } = require('../../dist/src/temporal-server/loopback-port');
const { createVideoTestEnvironment } = require('../../dist/src/testing');
const { ATTACKS } = require('./attacks.cjs');

const COMMAND = join(__dirname, '../../dist/src/cli/main.js');

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
const { short: isShort, minutes, only } = values;
const chosen = Object.entries(ATTACKS).filter(([name]) => name.includes(only));
const ATTACK_MS = isShort ? 2_000 : 8_000;
/** Answers that nobody reads are ended within 30 s. */
const LEFT_WITHIN_MS = 40_000;
/**
 * With a key there are bodies and downloads too. A short run is one of many tests on the machine, where Node frees memory
 * late; for the same reason it says nothing about time.
 */
const MOST_MB = isShort ? { withKey: 500, without: 500 } : { withKey: 300, without: 250 };
const SLOWEST_MS = isShort ? Number.POSITIVE_INFINITY : 500;
const VIDEO_BYTES = 8 * 1024 * 1024;
const OTHER_KEYS = 14_000;
const SAMPLE_EVERY_MS = 50;
/** Until the honest callers have opened their connections, and Node has compiled what they call. */
const WARM_UP_MS = isShort ? 2_000 : 5_000;

async function main() {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const folder = mkdtempSync(join(tmpdir(), 'videogen-doors-'));
  const env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: VIDEO_BYTES },
  });
  const callers = fork(join(__dirname, 'honest-callers.cjs'));
  let gateway;
  try {
    const keys = Object.fromEntries(['honest', 'attacker', 'limited'].map((name) => [name, makeKey(name)]));
    const keyFile = join(folder, 'keys');
    for (const [name, { line }] of Object.entries(keys))
      appendFileSync(keyFile, `${line}${name === 'limited' ? ' requests-per-second=1' : ''}\n`);
    const otherKey = (_, index) => `other${index} ${index.toString(16).padStart(64, '0')}\n`;
    appendFileSync(keyFile, Array.from({ length: OTHER_KEYS }, otherKey).join(''));
    const monitorPort = await freePort();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    gateway = spawn(process.execPath, [COMMAND, 'gateway', '--port', `${port}`], {
      stdio: 'ignore',
      env: {
        ...process.env,
        // As in our image.
        MALLOC_ARENA_MAX: '2',
        TEMPORAL_ADDRESS: env.temporal.address,
        TEMPORAL_NAMESPACE: env.temporal.client.options.namespace,
        VIDEOGEN_STORAGE: env.storageFolder,
        VIDEOGEN_GATEWAY_KEYS_FILE: keyFile,
        VIDEOGEN_MONITOR_PORT: `${monitorPort}`,
      },
    });
    endWithParent(gateway);
    await untilServed(url);
    const videos = await makeVideos(env, url, keys);
    callers.send({ url, key: keys.honest.key, callers: isShort ? 5 : 20, ...videos.honest });
    const watch = watcherOf({ gateway, callers, monitorPort });
    const target = { port, key: keys.attacker.key, limitedKey: keys.limited.key, ...videos.attacker };
    await sleep(WARM_UP_MS);
    const before = await watch.left();
    process.stdout.write(`At rest: ${Math.round(watch.megabytes())} MB.\n`);
    for (const [name, attack] of roundsOn(target))
      if (!(await attackAndReport(name, { watch, before, attack }))) process.exitCode = 1;
  } finally {
    callers.disconnect();
    gateway?.kill('SIGKILL');
    await env.teardown();
    rmSync(folder, { recursive: true });
  }
}

async function untilServed(url) {
  for (let triesLeft = 100; triesLeft > 0; triesLeft--) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer) return;
    await sleep(200);
  }
  throw new Error('The gateway does not answer within 20 s.');
}

/** For each key a video that has ended, and one that no worker takes. */
async function makeVideos(env, url, keys) {
  const worker = await env.createWorker();
  const running = worker.run();
  const make = async (key, wait) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: wait };
    const body = JSON.stringify({ prompt: 'A fox' });
    const answer = await (await fetch(`${url}/v1/videos`, { method: 'POST', headers, body })).json();
    if (answer.error) throw new Error(JSON.stringify(answer));
    return answer.id;
  };
  const owners = ['honest', 'attacker'];
  const ended = await Promise.all(owners.map((name) => make(keys[name].key, 'wait=30')));
  worker.shutdown();
  await running;
  const queued = await Promise.all(owners.map((name) => make(keys[name].key, 'wait=0')));
  return Object.fromEntries(
    owners.map((name, index) => [name, { ended: ended[index], running: queued[index] }]),
  );
}

/** Reads the figures from outside, because a gateway in trouble answers late. */
function watcherOf({ gateway, callers, monitorPort }) {
  const megabytes = () =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))[1]) / 1024;
  return {
    megabytes,
    async times() {
      callers.send('times');
      const [{ times, errors }] = await once(callers, 'message');
      return { times: times.sort((a, b) => a - b), errors };
    },
    async left() {
      const metrics = await (await fetch(`http://127.0.0.1:${monitorPort}/metrics`)).text();
      const streams = Number(/^videogen_gateway_streams (\d+)/m.exec(metrics)?.[1]);
      return { files: readdirSync(`/proc/${gateway.pid}/fd`).length, streams };
    },
  };
}

/** The attacks one by one, or all of them at once, each again and again. */
function roundsOn(target) {
  const attacks = chosen.map(([name, attack]) => [name, () => attack({ ...target, ms: ATTACK_MS })]);
  if (minutes === undefined) return attacks;
  const againAndAgain = async ([, attack]) => {
    const endsAtMs = performance.now() + Number(minutes) * 60_000;
    while (performance.now() < endsAtMs) await attack();
  };
  return [[`all attacks for ${minutes} min`, () => Promise.all(attacks.map(againAndAgain))]];
}

/** Attacks, and reports the highest memory of the gateway meanwhile and how the honest callers fared. */
async function attackAndReport(name, { watch, before, attack }) {
  await watch.times();
  let peakMb = 0;
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, watch.megabytes());
  }, SAMPLE_EVERY_MS);
  await attack();
  clearInterval(sampling);
  const mostMb = name.includes('without a key') ? MOST_MB.without : MOST_MB.withKey;
  const { times, errors } = await watch.times();
  const p99 = times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY;
  // The honest callers have files open now and then.
  const isOver = ({ files, streams }) => files <= before.files + 10 && streams === 0;
  const untilMs = performance.now() + LEFT_WITHIN_MS;
  let left = await watch.left();
  while (!isOver(left) && performance.now() < untilMs) {
    await sleep(200);
    left = await watch.left();
  }
  const problems = [
    peakMb > mostMb && `more than ${mostMb} MB`,
    p99 > SLOWEST_MS && `p99 above ${SLOWEST_MS} ms`,
    errors.length > 0 && `${errors.length} errors of honest callers, such as ${errors[0]}`,
    !isOver(left) && 'files or streams are left',
  ].filter(Boolean);
  const slowest = Math.round(times.at(-1) ?? Number.NaN);
  const figures = `${Math.round(peakMb)} MB, ${times.length} calls, p99 ${Math.round(p99)} ms, max ${slowest} ms`;
  const leftOver = `${left.streams} streams and ${left.files - before.files} files left`;
  const verdict = problems.length === 0 ? 'ok' : problems.join('; ');
  process.stdout.write(`${name}: ${figures}, ${leftOver}: ${verdict}\n`);
  return problems.length === 0;
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
