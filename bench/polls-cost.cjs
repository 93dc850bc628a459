/**
 * Counts what polls cost Temporal: `npm run bench -- --only h`, about 2 min. One task is polled in five ways, by jobs of 5 s, 30 s,
 * 2 min and 1 h, and at a service whose answers take 6 s and 20 s; beside them our own job, from its start to its end. Prints
 * the events, workflow tasks, billable Actions and bytes of each history, and, for the slow service, how long a query and a
 * cancellation had to wait. `--json FILE` also writes them to a file.
 *
 * Timers and retries wait their full length on a server that skips time; its events have fewer bytes than those of a real
 * server. An activity that would sleep between its polls does not: it adds the time up, because no server skips the time of
 * an activity, and counts the heartbeats that would be sent. The slow service answers in real time, on a dev server. Actions
 * are counted by Temporal's price list: a start, a timer, an activity, a retry, a heartbeat that is sent, an update of the
 * memo, and all local activities of one workflow task are one each.
 */
const { mkdtemp, rm, writeFile } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const { ApplicationFailure, Context } = require('@temporalio/activity');
const { temporal } = require('@temporalio/proto');
const {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  Runtime,
  Worker,
} = require('@temporalio/worker');
const { createVideoActivities } = require('../dist/activities');
const { createVideoService } = require('../dist/src/service');
const { createFileStorage } = require('../dist/src/storage');
const { createVideoTestEnvironment } = require('../dist/src/testing');
const useTestServers = require('../test/support/use-test-servers.cjs');

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const JOB_TIMES = { '5 s': 5 * SECOND, '30 s': 30 * SECOND, '2 min': 2 * MINUTE, '1 h': 60 * MINUTE };
const BOUNDS = { minMs: 5 * SECOND, maxMs: 30 * SECOND };
/** The SDK sends a heartbeat after 80 % of the timeout, here of one minute, and at most every minute. */
const HEARTBEAT_SENT_EVERY_MS = 48 * SECOND;
const SLOW_ANSWERS = { '6 s': 6 * SECOND, '20 s': 20 * SECOND };
const SLOW_JOB_MS = 20 * SECOND;

const WAYS = [
  { name: 'timer, regular activity', type: 'pollByRegularActivity', onTimer: true },
  { name: 'timer, local activity', type: 'pollByLocalActivity', onTimer: true },
  { name: 'five polls in an activity', type: 'pollSeveralTimes', sleeps: true },
  { name: 'one activity, heartbeats', type: 'pollInOneActivity', sleeps: true },
  { name: 'retries of an activity', type: 'pollByRetries' },
];
const OURS = 'our job, with submit and download';

const { EventType } = temporal.api.enums.v1;
const { HistoryEvent } = temporal.api.history.v1;

const ACTIONS_OF = {
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED]: () => 1,
  [EventType.EVENT_TYPE_TIMER_STARTED]: () => 1,
  [EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED]: () => 1,
  [EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED]: (event) =>
    event.activityTaskStartedEventAttributes.attempt - 1,
  [EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED]: () => 1,
  [EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES]: () => 1,
};

/** What one history cost. */
function costOf({ events }) {
  const workflowTasksWithMarkers = new Set(
    events.flatMap(({ markerRecordedEventAttributes: marker }) =>
      marker ? [String(marker.workflowTaskCompletedEventId)] : [],
    ),
  );
  const actions = events.map((event) => ACTIONS_OF[event.eventType]?.(event) ?? 0);
  return {
    events: events.length,
    workflowTasks: events.filter((event) => event.workflowTaskCompletedEventAttributes).length,
    actions: sum(actions) + workflowTasksWithMarkers.size,
    bytes: sum(events.map((event) => HistoryEvent.encode(event).finish().length)),
  };
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The activities of the ways that poll several times in one activity, around our own poll. */
function activitiesAround({ pollVideo }) {
  const pauseMs = ({ minMs, maxMs }, elapsedMs) => Math.min(Math.max(elapsedMs / 10, minMs), maxMs);
  return {
    pollVideo,
    async pollSeveral({ jobTimeMs, elapsedMs, atMost, ...bounds }) {
      for (let polls = 1; ; polls++) {
        elapsedMs += pauseMs(bounds, elapsedMs);
        const state = elapsedMs < jobTimeMs ? 'running' : 'succeeded';
        if (state === 'succeeded' || polls === atMost) {
          return { polls, elapsedMs, status: { state, word: state } };
        }
      }
    },
    async pollOrFail({ taskId, ...bounds }) {
      const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
      if ((await pollVideo({ taskId })).state === 'succeeded') return attempt;
      throw ApplicationFailure.create({
        message: 'not yet',
        category: 'BENIGN',
        nextRetryDelay: pauseMs(bounds, currentAttemptScheduledTimestampMs - scheduledTimestampMs),
      });
    },
  };
}

/** A server, the emulator, and a worker with the ways and our own workflows. */
async function withWorkers({ server, emulator, answersAfterMs = 0, workflowBundle }, work) {
  await useTestServers();
  const env = await createVideoTestEnvironment({ server, emulator: { videoBytes: 10_000, ...emulator } });
  const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
  const fast = createVideoService({ baseUrl: env.emulator.url, apiKey: () => env.emulator.apiKey });
  const polled = new Set();
  const service = {
    ...fast,
    async status(taskId, options) {
      polled.add(taskId);
      const answer = await fast.status(taskId, options);
      await abortableSleep(answersAfterMs, options?.signal);
      return answer;
    },
  };
  const activities = createVideoActivities({ service, storage: createFileStorage(folder) });
  const connection = env.temporal.nativeConnection;
  const bench = await Worker.create({
    connection,
    taskQueue: 'bench',
    workflowBundle,
    activities: activitiesAround(activities),
  });
  const ours = await env.createWorker({ service });
  try {
    return await ours.runUntil(bench.runUntil(() => work(env, fast, polled)));
  } finally {
    await fast.close();
    await env.teardown();
    await rm(folder, { recursive: true, force: true });
  }
}

function abortableSleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Starts a workflow that polls a new task. */
async function startWay({ temporal: { client } }, service, { type }, jobTimeMs) {
  const { taskId } = await service.start({ prompt: 'A red fox' }, { idempotencyKey: `${Math.random()}` });
  const handle = await client.workflow.start(type, {
    workflowId: `${type}-${taskId}`,
    taskQueue: 'bench',
    args: [{ taskId, jobTimeMs, ...BOUNDS }],
  });
  return { handle, taskId };
}

/** Starts a whole job of ours. */
async function startOurs({ temporal: { client }, videos }) {
  const job = await videos.start({ request: { prompt: 'A red fox' }, deadline: '2h' });
  return { job, handle: client.workflow.getHandle(job.workflowId) };
}

/** Jobs of one length, in each way and as a whole job of ours. */
async function measureJobTime(jobTime, workflowBundle) {
  const jobTimeMs = JOB_TIMES[jobTime];
  return withWorkers({ emulator: { jobTimeMs }, workflowBundle }, async (env, service) => {
    const rows = [];
    for (const { name: way, ...kind } of WAYS) {
      const { handle } = await startWay(env, service, kind, jobTimeMs);
      const polls = await handle.result();
      const { actions, ...cost } = costOf(await handle.fetchHistory());
      const sent = kind.sleeps ? Math.floor(Math.min(polls, jobTimeMs / HEARTBEAT_SENT_EVERY_MS)) : 0;
      rows.push({ jobTime, way, polls, ...cost, actions: actions + sent });
    }
    const { handle } = await startOurs(env);
    const { polls } = await handle.result();
    return [...rows, { jobTime, way: OURS, polls, ...costOf(await handle.fetchHistory()) }];
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks a running workflow again and again, and returns the longest wait. */
async function longestQueryMs(handle, query, isOver) {
  let longestMs = 0;
  while (!isOver()) {
    const askedAt = performance.now();
    await handle.query(query);
    longestMs = Math.max(longestMs, performance.now() - askedAt);
    await pause(200);
  }
  return Math.round(longestMs);
}

/** Cancels a job while its first poll is under way, and returns how long its end takes. */
async function cancelMs(handle, isPolled) {
  while (!isPolled()) await pause(20);
  const cancelledAt = performance.now();
  await handle.cancel();
  await handle.result().catch(() => undefined);
  return Math.round(performance.now() - cancelledAt);
}

/** A service whose answers are slow: all ways side by side, in real time. */
async function measureSlow(answers, workflowBundle) {
  const emulator = { jobTimeMs: SLOW_JOB_MS, clock: Date.now };
  const options = { server: 'dev', emulator, answersAfterMs: SLOW_ANSWERS[answers], workflowBundle };
  return withWorkers(options, async (env, service, polled) => {
    const measure = async (way, query, start) => {
      const [{ handle }, cancelled] = [await start(), await start()];
      const taskId = cancelled.taskId ?? (await cancelled.job.taskId());
      let isOver = false;
      const result = handle.result().finally(() => {
        isOver = true;
      });
      const [queryMs, ended] = await Promise.all([
        longestQueryMs(handle, query, () => isOver),
        cancelMs(cancelled.handle, () => polled.has(taskId)),
      ]);
      const value = await result;
      const cost = costOf(await handle.fetchHistory());
      return { answers, way, polls: value.polls ?? value, ...cost, queryMs, cancelMs: ended };
    };
    const ways = WAYS.filter(({ onTimer }) => onTimer);
    return Promise.all([
      ...ways.map((way) => measure(way.name, 'polls', () => startWay(env, service, way, SLOW_JOB_MS))),
      measure(OURS, 'progress', () => startOurs(env)),
    ]);
  });
}

const COLUMNS = {
  jobTime: 'job',
  answers: 'answers after',
  way: 'way to poll',
  polls: 'polls',
  events: 'events',
  workflowTasks: 'workflow tasks',
  actions: 'actions',
  bytes: 'bytes',
  queryMs: 'longest query, ms',
  cancelMs: 'cancelled in, ms',
};

function tableOf(rows) {
  const names = Object.keys(COLUMNS).filter((name) => rows.some((row) => row[name] !== undefined));
  const lines = [names.map((name) => COLUMNS[name]), names.map(() => '---')];
  for (const row of rows) lines.push(names.map((name) => (row[name] ?? '').toLocaleString('en')));
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

async function main() {
  const { values } = parseArgs({ options: { json: { type: 'string' } } });
  // Long workflow tasks and failed heartbeats, which are measured here, would log a warning each.
  const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } };
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions });
  const workflowsPath = require.resolve('./poll-ways/workflows.js');
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  const jobs = [];
  for (const jobTime of Object.keys(JOB_TIMES)) jobs.push(...(await measureJobTime(jobTime, workflowBundle)));
  process.stdout.write(`${tableOf(jobs)}\n`);
  const slow = await Promise.all(
    Object.keys(SLOW_ANSWERS).map((answers) => measureSlow(answers, workflowBundle)),
  );
  process.stdout.write(tableOf(slow.flat()));
  if (values.json)
    await writeFile(values.json, `${JSON.stringify({ jobs, slow: slow.flat() }, undefined, 2)}\n`);
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
