/**
 * The service of one case: our emulator in the contestant's protocol. A task ends after a number of polls, not after a time,
 * so that contestants may poll as often as they do.
 */
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { createServer, request: send } = require('node:http');
const { buffer } = require('node:stream/consumers');
const { setTimeout: sleep } = require('node:timers/promises');

const JOB_TIME_MS = 60_000;
/** Until the client has read the part of an answer. */
const PART_ARRIVES_MS = 100;
const FILE = { method: 'GET', path: /^\/files\//, call: 'download' };

/** `kill` is called at the moment of the case, if it has one: `{ url, apiKey, hasHappened(), tasks(), close() }`. */
exports.startService = async ({ startEmulator, dialect, testCase, kill }) => {
  const { fault, call, nth, runningPolls, videoBytes } = testCase;
  let nowMs = Date.now();
  let calls = 0;
  const scriptWhenDue = () => {
    if (fault && calls === nth - 1) emulator.next(call, fault);
  };
  const emulator = await startEmulator({
    jobTimeMs: JOB_TIME_MS,
    videoBytes,
    clock: () => nowMs,
    dialect,
    onCall: (seen) => {
      if (seen.call === 'status') nowMs += Math.ceil(JOB_TIME_MS / runningPolls);
      if (seen.call !== call) return;
      calls += 1;
      scriptWhenDue();
    },
  });
  scriptWhenDue();
  const isReady = () => emulator.generations().some((task) => emulator.endOf(task) <= nowMs);
  const front = fault ? undefined : await startFront({ emulator, dialect, testCase, kill, isReady });
  return {
    url: front?.url ?? emulator.url,
    apiKey: emulator.apiKey,
    /** False if the contestant never made the call that the case is about. */
    hasHappened: () => (front ? front.hasKilled() : calls >= nth && emulator.scriptIsSpent()),
    /** The ledger: each task was paid for. */
    tasks: () =>
      Promise.all(
        emulator.generations().map(async (task) => ({
          id: emulator.idOf(task),
          sha256: createHash('sha256')
            .update(await emulator.video(task.taskId))
            .digest('hex'),
        })),
      ),
    async close() {
      await front?.close();
      await emulator.close();
    },
  };
};

/** Passes every call on to the emulator, until the moment has come. */
async function startFront({ emulator, dialect, testCase, kill, isReady }) {
  const { call, when, ready = false, nth, share, pauseMs } = testCase;
  const routes = [FILE, ...dialect.routes];
  let seen = 0;
  let hasKilled = false;
  const strike = (response) => {
    hasKilled = true;
    kill();
    response.destroy();
  };
  const isMoment = ({ method, url }) => {
    const path = url.split('?')[0];
    const route = routes.find((one) => one.method === method && one.path.test(path));
    if (hasKilled || route?.call !== call) return false;
    seen += 1;
    return ready ? isReady() : seen === nth;
  };

  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const isNow = isMoment(request);
    if (isNow && when === 'asked') return strike(response);
    const answer = await passOn(emulator, request, body);
    if (isNow && when === 'done') return strike(response);
    response.writeHead(answer.status, answer.headers);
    if (isNow && when === 'part') {
      response.write(answer.body.subarray(0, Math.ceil(share * answer.body.length)));
      await sleep(PART_ARRIVES_MS);
      return strike(response);
    }
    response.end(answer.body);
    if (!isNow) return;
    await once(response, 'finish');
    if (pauseMs > 0) await sleep(pauseMs);
    strike(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    hasKilled: () => hasKilled,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The emulator makes links with the Host of the call, so they lead to the front. */
async function passOn({ url: target }, { method, url, headers }, body) {
  const onward = send(new URL(url, target), { method, headers });
  onward.end(body);
  const [answer] = await once(onward, 'response');
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}
