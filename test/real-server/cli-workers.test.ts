import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { DoctorReport } from '../../src/cli/doctor';
import { run } from '../../src/cli/run';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { VideoPlugin } from '../../src/worker/video-plugin';
import { FakeTerminal } from '../cli/fake-terminal';
import type { makeTrailer } from '../support/host-workflows';
import { captureLogs } from '../support/logs';
import { QUICK_PROFILE } from '../support/quick-profile';
import { failureOf, pause, quickWorkflows } from '../support/world';

// The command waits ten seconds before it asks for a missing worker.
jest.setTimeout(120_000);

const taskQueue = `host-${randomUUID()}`;
let env: VideoTestEnvironment;
let host: Worker;
let running: Promise<void>;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  const settings = {
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    ...QUICK_PROFILE,
  };
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('../support/host-workflows'),
    plugins: [new VideoPlugin()],
    logger: new DefaultLogger('ERROR'),
  });
  host = await Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    workflowBundle,
    activities: { think: async (about: string) => `A film about ${about}` },
    plugins: [new VideoPlugin({ env: settings, storage: createFileStorage(env.storageFolder) })],
  });
  running = host.run();
});
afterAll(async () => {
  host.shutdown();
  await running;
  await env.teardown();
});

const terminalFor = (queue: string, settings: Record<string, string> = {}) =>
  new FakeTerminal({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: queue,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    ...QUICK_PROFILE,
    VIDEOGEN_STORAGE: join(env.storageFolder, 'videos'),
    ...settings,
  });

/** Runs a command until it has printed a line, then presses Ctrl-C. */
async function runUntil(args: string[], terminal: FakeTerminal, line: RegExp): Promise<string> {
  const ending = run(args, terminal);
  while (!line.test(terminal.stderr)) await pause();
  terminal.interrupt();
  expect(await ending).toBe(130);
  expect(terminal.stdout).toBe('');
  return line.exec(terminal.stderr)?.[0] ?? '';
}

test('generate names the queue that no worker polls, and says what to do', async () => {
  const args = ['generate', 'A red fox', '--id', 'alone', '--json'];
  expect(await runUntil(args, terminalFor('nobody'), /^No worker polls.*$/m)).toBe(
    'No worker polls task queue nobody, so alone waits; start one with: videogen worker',
  );
  expect(env.emulator.generations()).toEqual([]);
});

async function examine(settings: Record<string, string>) {
  const terminal = terminalFor(taskQueue, settings);
  const code = await run(['doctor', '--json'], terminal);
  const { ok, checks }: DoctorReport = JSON.parse(terminal.stdout);
  return { code, ok, checks: Object.fromEntries(checks.map(({ name, ...check }) => [name, check])) };
}

test('every check is ok once a worker polls, and nothing is paid for', async () => {
  const taskQueue = 'doctor-served';
  const worker = await env.createWorker({
    taskQueue,
    // It runs no workflow, so it needs no thread for them.
    worker: quickWorkflows(),
  });
  await worker.runUntil(async () => {
    let report = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue });
    for (; !report.ok; report = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue })) await pause();
    expect(report).toMatchObject({
      code: 0,
      checks: {
        versions: { ok: true, found: expect.stringMatching(/, server \d+\.\d+\.\d+$/) },
        temporal: { ok: true, found: `answers at ${env.temporal.address}` },
        namespace: { ok: true, found: 'default retains ended jobs for 24 h' },
        workers: { ok: true, found: '1 on doctor-served' },
        service: { ok: true },
      },
    });
    const { checks } = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue, VIDEOGEN_DOWNLOAD_QUEUE: 'deserted' });
    expect(checks.workers).toEqual({
      ok: false,
      found: 'no worker polls deserted',
      fix: 'Start one with: videogen worker',
    });
  });
  expect(env.emulator.generations()).toEqual([]);
});

test('a queue without a worker is reported with the command that starts one', async () => {
  const { code, checks } = await examine({ VIDEOGEN_TASK_QUEUE: 'doctor-deserted' });
  expect(code).toBe(2);
  expect(checks.workers).toEqual({
    ok: false,
    found: 'no worker polls doctor-deserted',
    fix: 'Start one with: videogen worker',
  });
  expect(checks.namespace).toMatchObject({ ok: true });
});

test('a missing namespace is reported with the command that creates it', async () => {
  const { code, checks } = await examine({ TEMPORAL_NAMESPACE: 'nowhere' });
  expect(code).toBe(2);
  expect(checks).toMatchObject({
    temporal: { ok: true },
    namespace: {
      ok: false,
      found: 'there is no namespace nowhere',
      fix: expect.stringContaining('temporal operator namespace create --namespace nowhere'),
    },
    workers: { ok: false, found: 'skipped: it needs namespace' },
  });
});

test('doctor finds the worker of a host with the plugin', async () => {
  const examine = async () => {
    const terminal = terminalFor(taskQueue);
    await run(['doctor'], terminal);
    return terminal.stdout;
  };
  let report = await examine();
  // On a busy machine a check may not finish in time.
  while (/^(failed|skipped) +(temporal|namespace|workers)/m.test(report)) report = await examine();
  expect(report).toMatch(new RegExp(`^ok +workers +1 on ${taskQueue}$`, 'm'));
});

test('decide and generate take no workflow of the host for a video job', async () => {
  env.emulator.next('submit', { kind: 'reset' });
  const trailer = await env.temporal.client.workflow.start<typeof makeTrailer>('makeTrailer', {
    taskQueue,
    workflowId: 'trailer',
    args: ['foxes', 'shot'],
  });
  const shot = env.videos.handle('shot');
  while ((await shot.progress().catch(() => undefined))?.phase !== 'needs-decision') await pause();

  const decided = terminalFor(taskQueue);
  expect(await run(['decide', 'trailer', '--abandon'], decided)).toBe(2);
  expect(decided.stderr).toContain('There is no job trailer.');

  const followed = terminalFor(taskQueue);
  expect(await run(['generate', '--id', 'trailer', '--json'], followed)).toBe(2);
  expect(followed.stderr).toBe(decided.stderr);

  await shot.decideSubmit({ decision: 'abandon' });
  await failureOf(trailer.result());
});
