/**
 * Records the histories that test/time-skipping/replay.test.ts replays: `npm run histories NAME...`, and without a name
 * those that are not there yet. A released history is never recorded again, even when the workflow changes: it represents
 * the jobs that are running during a release.
 */
const { writeFile } = require('node:fs/promises');
const { join } = require('node:path');
const { historyToJSON } = require('@temporalio/common/lib/proto-utils');
const { chooseHistories } = require('./released-histories.cjs');
const useTestServers = require('./use-test-servers.cjs');
const { createVideoService } = require('../../dist/src/service');
const { createVideoTestEnvironment } = require('../../dist/src/testing');

const request = { prompt: 'A red fox', resolution: '480p', duration: 5, seed: 7 };

const FOLDER = join(__dirname, '../histories');

/** Waits until the progress of a job matches. */
async function until(handle, matches, sleep) {
  for (;;) {
    const progress = await handle.query('progress');
    if (matches(progress)) return progress;
    await sleep('1s');
  }
}

const isHeld = ({ phase }) => phase === 'needs-decision';
const isHeldItem = (item) => item.isHeld;
const loseSubmit = (emulator) => emulator.next('submit', { kind: 'reset' });

/** A job whose lost submit is decided. */
const decided = (decision) => ({
  prepare: loseSubmit,
  run: async (start, sleep) => {
    const handle = await start({ request });
    await until(handle, isHeld, sleep);
    await handle.executeUpdate('decideSubmit', { args: [decision] });
    return handle;
  },
});

/** Each history: how the emulator is prepared, and what happens to the job, if more than that it runs. */
const STORIES = {
  // The estimate comes with the task, and what was charged with the last poll.
  costs: { isPriced: true },
  'batch-costs': {
    isPriced: true,
    type: 'generateVideos',
    run: (start) => start({ requests: [request, { prompt: 'A hare' }], window: 2 }),
  },
  well: {},
  retried: {
    prepare: (emulator) => {
      emulator.next('submit', { kind: 'rate-limited', retryAfter: 30 }, { kind: 'server-error' });
      emulator.next(
        'status',
        { kind: 'refused', status: 401, message: 'no' },
        { kind: 'unknown-state', word: 'brewing' },
      );
      emulator.next('download', { kind: 'cut', afterBytes: 10 });
    },
  },
  // A poll that a local activity has no time for is made once more by a regular one.
  slow: {
    prepare: (emulator) => emulator.next('status', { kind: 'late', ms: 4_000 }, { kind: 'late', ms: 2_000 }),
  },
  'generation-failed': {
    prepare: (emulator) => emulator.next('submit', { kind: 'failed-task', code: 'foxes', message: 'no' }),
  },
  refused: {
    prepare: (emulator) => emulator.next('submit', { kind: 'refused', status: 400, message: 'no' }),
  },
  deadline: { run: (start) => start({ request, deadline: '20s' }) },
  cancelled: {
    run: async (start, sleep) => {
      const handle = await start({ request });
      await handle.executeUpdate('waitForTask');
      await sleep('10s');
      await handle.signal('pollNow');
      await sleep('10s');
      await handle.cancel();
      return handle;
    },
  },
  // Cancelled while its submit waits for the next attempt.
  'cancelled-submit': {
    prepare: (emulator) => emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 }),
    run: async (start) => {
      const handle = await start({ request });
      const attempt = async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt;
      while ((await attempt()) !== 2) await new Promise((resolve) => setTimeout(resolve, 20));
      await handle.cancel();
      return handle;
    },
  },
  // Records the second run: the first is long.
  continued: {
    jobTimeMs: 29 * 60_000,
    run: (start) => start({ request, polling: { min: '5s', max: '5s' } }),
  },
  'submit-unconfirmed': {
    prepare: (emulator) => emulator.next('submit', { kind: 'reset' }),
  },
  // Two decisions: resubmit, which is lost again, then adopt.
  held: {
    prepare: (emulator) => emulator.next('submit', { kind: 'reset' }, { kind: 'empty' }),
    run: async (start, sleep, _submit, { emulator }) => {
      const handle = await start({ request, holdFor: '3h' });
      const decide = async (decisionNow) => {
        await until(handle, isHeld, sleep);
        await sleep('1h');
        await handle.executeUpdate('decideSubmit', { args: [decisionNow()] });
      };
      await decide(() => ({ decision: 'resubmit' }));
      await decide(() => ({ decision: 'adopt', taskId: emulator.generations()[1].taskId }));
      return handle;
    },
  },
  abandoned: decided({ decision: 'abandon' }),
  'resubmitted-by-policy': {
    prepare: loseSubmit,
    run: (start) => start({ request, onLostSubmit: 'resubmit' }),
  },
  'failed-by-policy': { prepare: loseSubmit, run: (start) => start({ request, onLostSubmit: 'fail' }) },
  'cancelled-hold': {
    prepare: loseSubmit,
    run: async (start, sleep) => {
      const handle = await start({ request });
      await until(handle, isHeld, sleep);
      await handle.cancel();
      return handle;
    },
  },
  // The first of its services refuses it, so the second makes the video.
  'next-service': {
    type: 'generateVideoWithFallback',
    services: ['a', 'b'],
    prepare: (emulator) => emulator.next('submit', { kind: 'refused', status: 401, message: 'no' }),
    run: (start) => start({ request, services: ['a', 'b'] }),
  },
  // Held, so with a webhook in the middle and one at the end. The worker has no secret, so it sends neither.
  webhooks: {
    jobTimeMs: 0,
    prepare: loseSubmit,
    run: async (start, sleep) => {
      const handle = await start({ request, callbackUrl: 'https://example.com/hooks' });
      await until(handle, isHeld, sleep);
      await handle.executeUpdate('decideSubmit', { args: [{ decision: 'resubmit' }] });
      return handle;
    },
  },
  'task-not-found': { run: (start) => start({ taskId: 'task-that-never-was' }) },
  'no-video': {
    prepare: (emulator) =>
      emulator.next('status', { kind: 'no-video' }, { kind: 'no-video' }, { kind: 'no-video' }),
    jobTimeMs: 0,
  },
  'video-corrupt': {
    prepare: (emulator) =>
      emulator.next('download', ...Array.from({ length: 5 }, () => ({ kind: 'web-page' }))),
  },
  'deadline-at-submit': {
    prepare: (emulator) => emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 }),
    run: (start) => start({ request, deadline: '1m' }),
  },
  adopted: { run: async (start, _sleep, submit) => start({ taskId: await submit() }) },
  // One item is refused, one is lost and adopted: each is a job of its own.
  batch: {
    type: 'generateVideos',
    prepare: (emulator) =>
      emulator.next('submit', { kind: 'refused', status: 400, message: 'no' }, { kind: 'cut-body' }),
    run: async (start, sleep, _submit, { emulator, client }) => {
      const handle = await start({ requests: [1, 2, 3, 4].map(() => request), window: 2 });
      const { running } = await until(handle, ({ running }) => running.some(isHeldItem), sleep);
      const { name } = running.find(isHeldItem);
      const decision = { decision: 'adopt', taskId: emulator.generations()[0].taskId };
      await client.workflow.getHandle(name).executeUpdate('decideSubmit', { args: [decision] });
      return handle;
    },
  },
  'batch-stopped': {
    type: 'generateVideos',
    prepare: (emulator) => emulator.next('submit', { kind: 'refused', status: 400, message: 'no' }),
    run: (start) => start({ requests: [1, 2, 3, 4].map(() => request), window: 2, onFailure: 'stop' }),
  },
  // One item is held, three run, one has not begun.
  'batch-cancelled': {
    type: 'generateVideos',
    jobTimeMs: 60 * 60_000,
    prepare: loseSubmit,
    run: async (start, sleep) => {
      const handle = await start({ requests: [1, 2, 3, 4, 5].map(() => request), window: 3 });
      await until(handle, ({ running }) => running.some(isHeldItem) && running.length === 4, sleep);
      await handle.signal('pollNow');
      await sleep('10s');
      await handle.cancel();
      return handle;
    },
  },
  // Records the second run: the first is long.
  'batch-continued': {
    type: 'generateVideos',
    jobTimeMs: 0,
    run: (start) =>
      start({ requests: Array.from({ length: 1_500 }, () => ({ prompt: 'A hare' })), window: 60 }),
  },
  // It never ends by itself.
  ledger: {
    type: 'keepLedger',
    run: async (start, sleep) => {
      const handle = await start();
      const write = (...entries) => handle.executeUpdate('writeLedger', { args: [entries] });
      await write(reserve('a'), reserve('b'), reserve('c'));
      await write({ id: 'a', cost: { amount: 0.5, currency: 'USD' } }, { id: 'b', cost: 'nothing' });
      await sleep('24h');
      await write(reserve('d'));
      await handle.terminate();
      return handle;
    },
  },
};

/** One line for the ledger of the caps. */
const reserve = (id) => ({
  id,
  accounts: [
    { scope: 'batch', name: 'foxes', limits: [{ unit: 'videos', limit: 9 }] },
    {
      scope: 'day',
      limits: [
        { unit: 'videos', limit: 2 },
        { unit: 'USD', limit: 1 },
      ],
    },
  ],
  takes: { videos: 1, seconds: 5, USD: 0.5 },
});

/** What the service of the stories about costs charges, and what its profile expects. */
const PRICED = {
  charge: 0.45,
  profile: { name: 'Emulator', prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } },
};

/** Removes the traces of the machine that recorded the history. */
function anonymous(key, value) {
  if (key === 'stackTrace') return '';
  return key === 'identity' ? 'recorder' : value;
}

async function record(name) {
  const { isPriced, jobTimeMs = 60_000, run = (start) => start({ request }) } = STORIES[name];
  const env = await createVideoTestEnvironment({
    emulator: { jobTimeMs, ...(isPriced && { charge: PRICED.charge }) },
  });
  const { temporal, emulator } = env;
  STORIES[name].prepare?.(emulator);
  const start = (...args) =>
    temporal.client.workflow.start(STORIES[name].type ?? 'generateVideo', {
      taskQueue: 'video-generation',
      workflowId: name,
      args,
    });
  const submit = async () => {
    const answer = await fetch(`${emulator.url}/v1/videos/text-to-video`, {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.apiKey}` },
      body: JSON.stringify(request),
    });
    return (await answer.json()).task_id;
  };
  const service = isPriced ? pricedService(emulator) : undefined;
  // All of them are the same emulator, which refuses the first submit.
  const named = (STORIES[name].services ?? []).map((one) => [one, plainService(emulator)]);
  const worker = await env.createWorker({
    ...STORIES[name].worker,
    ...(service && { service }),
    ...(named.length > 0 && { services: Object.fromEntries(named) }),
  });
  await worker.runUntil(async () => {
    const handle = await run(start, (ms) => temporal.sleep(ms), submit, {
      emulator,
      client: temporal.client,
    });
    await handle.result().catch(() => undefined);
    const last = temporal.client.workflow.getHandle(name);
    const history = JSON.parse(historyToJSON(await last.fetchHistory()), anonymous);
    await writeFile(join(FOLDER, `${name}.json`), `${JSON.stringify(history)}\n`);
    process.stdout.write(`${name}: ${history.events.length} events\n`);
  });
  await service?.close();
  await env.teardown();
}

const plainService = ({ url, apiKey }) => createVideoService({ baseUrl: url, apiKey: () => apiKey });

const pricedService = ({ url, apiKey }) =>
  createVideoService({ baseUrl: url, apiKey: () => apiKey, profile: PRICED.profile });

async function main(names) {
  const { chosen, problem } = chooseHistories(FOLDER, Object.keys(STORIES), names);
  if (problem !== undefined) throw problem;
  await useTestServers();
  for (const name of chosen) await record(name);
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${typeof error === 'string' ? error : error.stack}\n`);
  process.exitCode = 1;
});
