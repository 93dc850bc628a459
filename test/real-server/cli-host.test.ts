import { randomUUID } from 'node:crypto';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { run } from '../../src/cli/run';
import { VideoPlugin } from '../../src/plugin/video-plugin';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { FakeTerminal } from '../cli/fake-terminal';
import type { makeTrailer } from '../support/host-workflows';
import { captureLogs } from '../support/logs';
import { failureOf, pause } from '../support/world';

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
  const settings = { VIDEO_API_BASE_URL: env.emulator.url, VIDEO_API_KEY: env.emulator.apiKey };
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

const terminalFor = (queue: string) =>
  new FakeTerminal({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: queue,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    VIDEOGEN_STORAGE: env.storageFolder,
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
  const waitIn = (id: string, queue: string) =>
    runUntil(['generate', 'A red fox', '--id', id, '--json'], terminalFor(queue), /^No worker polls.*$/m);
  expect(await Promise.all([waitIn('alone', 'nobody'), waitIn('unsubmitted', taskQueue)])).toEqual([
    'No worker polls task queue nobody, so alone waits; start one with: videogen worker',
    // A worker with the plugin polls only its own queue.
    `No worker polls task queue ${taskQueue}-submit, where unsubmitted waits for its submit. If the worker of ${taskQueue} has the plugin, start jobs with the createVideoClient of the plugin; otherwise start one with: videogen worker`,
  ]);
  expect(env.emulator.generations()).toEqual([]);
});

test('doctor warns a healthy host that jobs of videogen generate would wait', async () => {
  const examine = async () => {
    const terminal = terminalFor(taskQueue);
    await run(['doctor'], terminal);
    return terminal.stdout;
  };
  let report = await examine();
  // On a busy machine a check may not finish in time.
  while (/^(failed|skipped) +(temporal|namespace|workers)/m.test(report)) report = await examine();
  expect(report).toMatch(
    new RegExp(`^warning +workers +no worker polls for the submits of ${taskQueue}-submit$`, 'm'),
  );
  expect(report).toContain('A worker with the plugin serves the jobs of its own client');
});

test('decide and generate say that a workflow of the host is not a video job, and name its jobs', async () => {
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
  expect(decided.stderr).toBe('trailer is a makeTrailer, not a video job. Its video jobs are shot.\n');

  const followed = terminalFor(taskQueue);
  expect(await run(['generate', '--id', 'trailer', '--json'], followed)).toBe(2);
  expect(followed.stderr).toBe('trailer is a makeTrailer, not a video job.\n');

  await shot.decideSubmit({ decision: 'abandon' });
  await failureOf(trailer.result());
});
