import { join } from 'node:path';
import type { DoctorReport } from '../../src/cli/doctor/report';
import { run } from '../../src/cli/run';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { Home, untilErr } from '../cli/cli-process';
import { FakeTerminal } from '../cli/fake-terminal';
import { bundlePath, pause } from '../support/world';

jest.setTimeout(120_000);

let env: VideoTestEnvironment;
beforeAll(async () => {
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { apiKey: 'sk-doctor' } });
});
afterAll(() => env.teardown());

async function examine(settings: Record<string, string> = {}) {
  const terminal = new FakeTerminal({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    VIDEOGEN_STORAGE: join(env.storageFolder, 'videos'),
    ...settings,
  });
  const code = await run(['doctor', '--json'], terminal);
  return { code, ...parseReport(terminal.stdout) };
}

function parseReport(stdout: string) {
  const { ok, checks }: DoctorReport = JSON.parse(stdout);
  return { ok, checks: Object.fromEntries(checks.map(({ name, ...check }) => [name, check])) };
}

test('every check is ok once a worker polls, and nothing is paid for', async () => {
  const taskQueue = 'doctor-served';
  const worker = await env.createWorker({
    taskQueue,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  await worker.runUntil(async () => {
    let report = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue });
    // A slow answer makes the clock of the service seem late.
    const isOk = () => report.ok && report.checks.clock?.found === 'the same as that of the service';
    for (; !isOk(); report = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue })) await pause();
    expect(report).toMatchObject({
      code: 0,
      checks: {
        versions: { ok: true, found: expect.stringMatching(/, server \d+\.\d+\.\d+$/) },
        temporal: { ok: true, found: `answers at ${env.temporal.address}` },
        namespace: { ok: true, found: 'default retains ended jobs for 24 h' },
        workers: {
          ok: true,
          found: expect.stringMatching(/^one on doctor-served, last polled \d+ m?s ago$/),
        },
        key: { ok: true },
        clock: { ok: true, found: 'the same as that of the service' },
      },
    });
    const { checks } = await examine({ VIDEOGEN_TASK_QUEUE: taskQueue, VIDEOGEN_DOWNLOAD_QUEUE: 'deserted' });
    expect(checks.workers).toEqual({
      ok: false,
      found: 'no worker polls for the downloads of deserted',
      fix: 'Start one with: videogen worker --only downloads',
    });
  });
  expect(env.emulator.generations()).toEqual([]);
});

test('a queue without a worker is reported with the command that starts one', async () => {
  const { code, checks } = await examine({ VIDEOGEN_TASK_QUEUE: 'doctor-deserted' });
  expect(code).toBe(2);
  expect(checks.workers).toEqual({
    ok: false,
    found: expect.stringContaining('no worker polls for the workflows of doctor-deserted'),
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

test('doctor finds the server of a running dev, and ends by itself', async () => {
  const home = new Home();
  try {
    const dev = home.start(['dev']);
    await untilErr(dev, 'Ctrl-C ends everything');
    const { code, out } = await home.run(['doctor', '--json']);
    const { checks } = parseReport(out);
    expect([code, checks.temporal?.found]).toEqual([
      0,
      expect.stringContaining(`${home.note()?.address}, run`),
    ]);
    expect(checks.versions?.found).toContain(', server ');
    expect(checks.workers).toMatchObject({ ok: true });
    dev.kill('SIGTERM');
    await dev.ended;

    const without = await home.run(['doctor']);
    expect(without).toMatchObject({ code: 0, err: '' });
    expect(without.out).toContain('generate starts a server with');
    expect(home.processes()).toEqual([]);
  } finally {
    await home.remove();
  }
});
