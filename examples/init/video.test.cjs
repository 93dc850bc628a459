// Your workflow on Temporal's time-skipping server, with an emulated video service that fails on demand. Where the server cannot be
// downloaded, set VIDEOGEN_TEST_SERVER to one from https://github.com/temporalio/sdk-java/releases.
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { DefaultLogger, Runtime, Worker } = require('@temporalio/worker');
const { createVideoTestEnvironment } = require('temporal-videogen/testing');

const taskQueue = 'posters';
let env;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 40 * 60_000 } });
}, 300_000);
afterAll(() => env?.teardown());

/** Runs a worker while the function does something. */
async function withWorker(act) {
  const worker = await Worker.create({
    connection: env.temporal.nativeConnection,
    taskQueue,
    workflowsPath: join(__dirname, './video-workflows'),
    plugins: [env.createPlugin()],
  });
  return worker.runUntil(act);
}

const startPoster = (workflowId) =>
  env.temporal.client.workflow.start('makePoster', { taskQueue, workflowId, args: ['A red fox'] });

test('a poster waits out a 429 of ten minutes, and is paid for once', async () => {
  env.emulator.next('submit', { kind: 'rate-limited', retryAfter: 600 });
  await withWorker(async () => {
    const poster = await startPoster('limited');
    expect(await poster.result()).toMatch(/^file:/);
  });
  expect(env.emulator.generations()).toHaveLength(1);
}, 120_000);

test('a submit whose answer is lost waits for your decision, and is not paid twice', async () => {
  env.emulator.next('submit', { kind: 'reset' });
  await withWorker(async () => {
    const poster = await startPoster('lost');
    const job = env.videos.handle('lost-video');
    const phase = () =>
      job.progress().then(
        ({ phase }) => phase,
        () => 'not started',
      );
    while ((await phase()) !== 'needs-decision') await sleep(100);
    const { taskId } = env.emulator.generations().at(-1);
    await job.decideSubmit({ decision: 'adopt', taskId });
    expect(await poster.result()).toMatch(/^file:/);
  });
  expect(env.emulator.generations()).toHaveLength(2);
}, 120_000);
