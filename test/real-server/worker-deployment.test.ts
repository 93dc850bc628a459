import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import { DEFAULT_TASK_QUEUE, submitQueueOf } from '../../src/contract/names';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoWorkerOptions } from '../../src/worker/video-worker';
import { commandsOf, expectShown, readPage, type ShownCommand, sectionOf } from '../support/docs-page';
import { historyOf } from '../support/history';
import { ledgerOf } from '../support/ledger-of';
import { captureLogs } from '../support/logs';
import { type Printed, runInShell } from '../support/temporal-command';
import { pause, quickWorkflows, untilProgress } from '../support/world';

jest.setTimeout(300_000);

const request = { prompt: 'A red fox' };
const page = readPage('deployment.md');
const ROUTED = temporal.api.enums.v1.RoutingConfigUpdateState.ROUTING_CONFIG_UPDATE_STATE_COMPLETED;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  // Seconds instead of minutes, and a short limit for histories.
  const dynamicConfig = {
    'matching.wv.VersionDrainageStatusVisibilityGracePeriod': '"1s"',
    'matching.wv.VersionDrainageStatusRefreshInterval': '"1s"',
    'matching.PollerHistoryTTL': '"1s"',
    'limit.historyCount.suggestContinueAsNew': '40',
  };
  const emulator = { jobTimeMs: 0, videoBytes: 64 * 1024 };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator });
});
afterAll(() => env.teardown());

const shell = (command: string) => runInShell(env.temporal.address, command);

/** Repeats a command of the page until its output matches: the server learns of workers and jobs with a delay. */
async function runShown(shown: ShownCommand | undefined, replaced: Record<string, string> = {}) {
  if (!shown) throw new Error('The page does not show the command.');
  const words = Object.entries(replaced);
  const command = words.reduce((text, [word, by]) => text.replace(word, by), shown.command);
  return until(
    () => shell(command),
    (printed) => {
      expect(printed.code).toBe(0);
      expectShown(shown, printed.text);
    },
  );
}

/** Each command is another process. */
const REPEAT_AFTER_MS = 300;

async function until(run: () => Promise<Printed>, holds: (printed: Printed) => void): Promise<Printed> {
  const endMs = performance.now() + 30_000;
  for (;;) {
    const printed = await run();
    try {
      holds(printed);
      return printed;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await sleep(REPEAT_AFTER_MS);
    }
  }
}

const running = new Set<() => Promise<void>>();
afterEach(async () => {
  for (const stop of running) await stop();
});

async function startWorker(options: VideoWorkerOptions): Promise<() => Promise<void>> {
  const worker = await env.createWorker({
    ...options,
    worker: { ...options.worker, ...quickWorkflows() },
  });
  const ended = worker.run();
  const stop = async () => {
    running.delete(stop);
    worker.shutdown();
    await ended;
  };
  running.add(stop);
  return stop;
}

/** Waits until the server knows that workers of a version poll for jobs and submits. */
async function untilPolling(taskQueue: string, version: { deploymentName: string; buildId: string }) {
  const { deploymentName, buildId } = version;
  await until(
    () =>
      shell(
        `temporal worker deployment describe-version --deployment-name ${deploymentName} --build-id ${buildId}`,
      ),
    ({ text }) => {
      for (const queue of [`${taskQueue}\\s+workflow`, `${submitQueueOf(taskQueue)}\\s+activity`]) {
        expect(text).toMatch(new RegExp(`^\\s+${queue}`, 'm'));
      }
    },
  );
}

/** Waits until all task queues know the current version; the command returns before they do. */
async function untilRouted(deploymentName: string, buildId: string) {
  const { connection, options } = env.temporal.client;
  const described = { namespace: options.namespace, deploymentName };
  for (;;) {
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment(described);
    const { routingConfig, routingConfigUpdateState } = workerDeploymentInfo ?? {};
    const isCurrent = routingConfig?.currentDeploymentVersion?.buildId === buildId;
    if (isCurrent && routingConfigUpdateState === ROUTED) return;
    await pause();
  }
}

const ofBuild = (buildId: string): VideoWorkerOptions => ({
  env: { TEMPORAL_DEPLOYMENT_NAME: 'videos', TEMPORAL_WORKER_BUILD_ID: buildId },
});

/** A job that polls only on request. */
const startJob = () => env.videos.start({ request, polling: { min: '1h' }, deadline: '2h' });

async function finish(job: VideoJob): Promise<void> {
  await untilProgress(job, ({ phase }) => phase === 'waiting');
  await job.pollNow();
  await job.result();
}

/** The builds that ran workflow tasks or activities of a run. */
async function buildsOf({ workflowId }: VideoJob, runId?: string): Promise<string[]> {
  const { events } = await historyOf(env.temporal.client, workflowId, runId);
  const builds = (events ?? []).flatMap((event) => [
    event.workflowTaskCompletedEventAttributes?.deploymentVersion?.buildId ?? [],
    event.activityTaskStartedEventAttributes?.workerVersion?.buildId ?? [],
  ]);
  return [...new Set(builds.flat())];
}

const runIdOf = async ({ workflowId }: VideoJob) =>
  (await env.temporal.client.workflow.getHandle(workflowId).describe()).runId;

/** Lets the job poll until its history is long and it continues as new. */
async function untilContinued(job: VideoJob): Promise<void> {
  const first = await runIdOf(job);
  while ((await runIdOf(job)) === first) {
    const { polls } = await job.progress();
    env.emulator.next('status', { kind: 'unknown-state', word: 'brewing' });
    await job.pollNow();
    await untilProgress(job, (progress) => progress.polls > polls);
  }
}

test('a worker deployment ends a job on the version it started on, and starts new ones on the current one', async () => {
  const [makeFirstCurrent] = commandsOf(sectionOf(page, 'With a worker deployment'));
  const steps = commandsOf(sectionOf(page, 'Roll out a version'));
  const [queuesOfNew, oldIsCurrent, ramp, listNew, makeCurrent, countOld, drains, drained, remove, move] =
    steps;
  expect(steps).toHaveLength(10);

  const stopUnenv = await startWorker({ env: {} });
  const before = await startJob();
  await before.taskId();
  const stopOld = await startWorker(ofBuild('1.4.2'));
  await untilPolling(DEFAULT_TASK_QUEUE, { deploymentName: 'videos', buildId: '1.4.2' });
  await runShown(makeFirstCurrent);
  await untilRouted('videos', '1.4.2');
  await finish(before);
  expect(await buildsOf(before)).toContain('1.4.2');
  await stopUnenv();

  const old = await startJob();
  const moved = await startJob();
  for (const job of [old, moved]) await job.taskId();
  const firstRun = await runIdOf(old);

  await startWorker(ofBuild('1.5.0'));
  await untilPolling(DEFAULT_TASK_QUEUE, { deploymentName: 'videos', buildId: '1.5.0' });
  for (const shown of [queuesOfNew, oldIsCurrent, ramp, listNew, makeCurrent]) await runShown(shown);
  await untilRouted('videos', '1.5.0');

  const fresh = await startJob();
  await finish(fresh);
  await runShown(move, { NAME: moved.workflowId });
  await finish(moved);
  await runShown(countOld);
  // While the job does nothing: it is not counted between two of its runs, and a drained version stays drained.
  await runShown(drains);
  await untilContinued(old);
  await finish(old);

  expect(await buildsOf(fresh)).toEqual(['1.5.0']);
  expect(await buildsOf(moved)).toEqual(['1.4.2', '1.5.0']);
  expect(await buildsOf(old, firstRun)).toEqual(['1.4.2']);
  expect(await buildsOf(old)).toEqual(['1.4.2']);
  expect(env.emulator.generations()).toHaveLength(4);

  await runShown(drained);
  await stopOld();
  await runShown(remove);
  for (const shown of commandsOf(sectionOf(page, 'New versions'))) await runShown(shown);
});

test('a worker deployment keeps counting under caps when the workers of the version that began to are gone', async () => {
  const [taskQueue, deploymentName] = [`parts-${randomUUID()}`, `parts-${randomUUID()}`];
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  let stopLast: (() => Promise<void>) | undefined;
  for (const buildId of ['1', '2']) {
    const version = { deploymentName, buildId };
    const workerDeploymentOptions = {
      useWorkerVersioning: true,
      version,
      defaultVersioningBehavior: 'PINNED',
    } as const;
    const stop = await startWorker({
      taskQueue,
      caps: { day: { videos: 10 } },
      worker: { workerDeploymentOptions },
    });
    await untilPolling(taskQueue, version);
    const makeCurrent = `set-current-version --deployment-name ${deploymentName} --build-id ${buildId} --yes`;
    await until(
      () => shell(`temporal worker deployment ${makeCurrent}`),
      ({ code }) => expect(code).toBe(0),
    );
    await untilRouted(deploymentName, buildId);
    await stopLast?.();
    stopLast = stop;
    await finish(await videos.start({ request, polling: { min: '1h' } }));
  }
  const { counts } = await ledgerOf(env.temporal.client, taskQueue);
  expect(counts).toMatchObject([{ used: { videos: 2 } }]);
});
