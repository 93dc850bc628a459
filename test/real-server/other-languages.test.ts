import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VideoJob } from '../../src/client/video-job';
import { parseJobInput } from '../../src/contract/job-input';
import * as names from '../../src/contract/names';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { Home, lastLine } from '../cli/cli-process';
import {
  blocksOf,
  commandsOf,
  expectShown,
  readPage,
  type ShownCommand,
  sectionOf,
} from '../support/docs-page';
import { type HistoryEvent, historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { describeAtNight } from '../support/nightly';
import { findPythonWith, PYTHON_TIMEOUT_MS } from '../support/python-packages';
import { type Printed, runInShell } from '../support/temporal-command';
import { keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

const page = readPage('other-languages.md');
const PROGRAM = join(__dirname, '../support/python/start_job.py');

let env: VideoTestEnvironment;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  const worker = await env.createWorker({ worker: quickWorkflows() });
  stopWorker = keepRunning(worker);
});
afterAll(async () => {
  await stopWorker();
  await env.teardown();
});

const shell = (command: string) => runInShell(env.temporal.address, command);

/** Runs a command of the page, and expects the output on the page. */
async function runShown(shown: ShownCommand, replaced: Record<string, string> = {}): Promise<Printed> {
  const replace = (text: string) =>
    Object.entries(replaced).reduce((now, [word, by]) => now.replace(word, by), text);
  const command = replace(shown.command);
  const printed = await shell(command);
  expectShown({ command, output: shown.output.map(replace) }, printed.text);
  return printed;
}

const start = (workflowId: string, job: unknown) =>
  shell(
    `temporal workflow start --type generateVideo --task-queue video-generation --workflow-id ${workflowId} --input '${JSON.stringify(job)}'`,
  );

const request = { prompt: 'A red fox in the snow', duration: 5 };

describe('the page about other languages', () => {
  test('lists every name that a caller can use', () => {
    const all = Object.values(names).filter((name) => typeof name === 'string');
    expect(all.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test('shows valid jobs', () => {
    const jobs = blocksOf(page, 'json').map((text) => parseJobInput(JSON.parse(text)));
    expect(jobs).toHaveLength(2);
    expect(jobs.filter(({ ok }) => !ok)).toEqual([]);
  });

  test('shows the Python program that is run below', () => {
    expect(blocksOf(page, 'python')).toEqual([readFileSync(PROGRAM, 'utf8')]);
  });
});

describe('the temporal command', () => {
  test('starts a job, follows it and gets its video, does not start it twice, and our client joins it', async () => {
    const commands = commandsOf(sectionOf(page, 'With the temporal command'));
    expect(commands).toHaveLength(5);
    for (const shown of commands) expect(await runShown(shown)).toMatchObject({ code: 0 });
    expect(await shell(`${commands[0]?.command} --fail-existing`)).toMatchObject({
      code: 1,
      text: expect.stringContaining('already'),
    });
    const job = await env.videos.start({ request }, { workflowId: 'fox-1' });
    expect((await job.result()).video.uri).toMatch(/fox-1\.mp4$/);
    expect(env.emulator.generations().map((task) => task.request)).toEqual([request]);
  });

  test('runs a batch', async () => {
    const paid = env.emulator.generations().length;
    const commands = commandsOf(sectionOf(page, 'A batch'));
    expect(commands).toHaveLength(1);
    for (const shown of commands) expect(await runShown(shown)).toMatchObject({ code: 0 });
    expect(env.emulator.generations()).toHaveLength(paid + 2);
  });

  test('decides a lost submit', async () => {
    const paidBefore = env.emulator.generations().length;
    env.emulator.next('submit', { kind: 'reset' });
    await start('fox-2', { request });
    await untilProgress(env.videos.handle('fox-2'), ({ phase }) => phase === 'needs-decision');
    await start('fox-3', { request, polling: { min: '1h' } });
    await env.videos.handle('fox-3').taskId();
    const taskId = env.emulator.generations()[paidBefore]?.taskId ?? '';
    const commands = commandsOf(sectionOf(page, 'A lost submit'));
    const codes: number[] = [];
    for (const shown of commands) codes.push((await runShown(shown, { TASK_ID: taskId })).code);
    expect(codes).toEqual([0, 0]);
    expect(await env.videos.handle('fox-2').result()).toMatchObject({ taskId });
    const late = await shell(
      `temporal workflow update execute --workflow-id fox-3 --name decideSubmit --input '{"decision":"resubmit"}'`,
    );
    expect(late).toMatchObject({ code: 1 });
    expect(late.text).toContain(
      'No decision is needed: the job is waiting. (type: videogen.DecisionRefused,',
    );
  });

  test('cancels a job, whose memo still names the task', async () => {
    await start('fox-3', { request, polling: { min: '1h' } });
    await env.videos.handle('fox-3').taskId();
    const commands = commandsOf(sectionOf(page, 'Ending a job'));
    expect(commands).toHaveLength(3);
    for (const shown of commands) await runShown(shown);
  });

  test('prints one sentence about an invalid job', async () => {
    const paid = env.emulator.generations().length;
    const [shown, ...others] = commandsOf(sectionOf(page, 'A wrong job'));
    expect(others).toEqual([]);
    if (shown) expect(await runShown(shown)).toMatchObject({ code: 1 });
    expect(env.emulator.generations()).toHaveLength(paid);
  });
});

describe('the commands for those on call', () => {
  async function untilEvent({ workflowId }: VideoJob, isIt: (event: HistoryEvent) => boolean): Promise<void> {
    while (!(await historyOf(env.temporal.client, workflowId)).events?.some(isIt)) await pause();
  }

  test('stop the submits of a queue, and let them go on, without a restart', async () => {
    const [stop, goOn] = commandsOf(sectionOf(readPage('rate-limits.md'), 'Stop all submits'));
    if (!stop || !goOn) throw new Error('The page does not show the commands.');
    const paid = env.emulator.generations().length;
    expect(await runShown(stop)).toMatchObject({ code: 0 });
    const job = await env.videos.start({ request, polling: { min: '1s', max: '1s' } });
    await untilEvent(
      job,
      ({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === 'submitVideo',
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(env.emulator.generations()).toHaveLength(paid);
    expect(await runShown(goOn)).toMatchObject({ code: 0 });
    await job.result();
    expect(env.emulator.generations()).toHaveLength(paid + 1);
  });

  test('reset a job that a signal has stopped, and it continues with its task', async () => {
    const [shown] = commandsOf(sectionOf(readPage('failures.md'), 'A signal that cannot be decoded'));
    if (!shown) throw new Error('The page does not show the command.');
    const paid = env.emulator.generations().length;
    const job = await env.videos.start({ request, polling: { min: '1h' } });
    const taskId = await job.taskId();
    await env.temporal.client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: job.workflowId },
      signalName: names.POLL_NOW_SIGNAL,
      input: {
        payloads: [{ metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('x') }],
      },
    });
    await untilEvent(job, (event) => event.workflowTaskFailedEventAttributes != null);
    expect(await runShown(shown, { 'fox-1': job.workflowId })).toMatchObject({ code: 0 });
    const { workflow } = env.temporal.client;
    await workflow.getHandle(job.workflowId).signal(names.POLL_NOW_SIGNAL);
    expect(await workflow.getHandle(job.workflowId).result()).toMatchObject({ taskId });
    expect(env.emulator.generations()).toHaveLength(paid + 1);
  });
});

describeAtNight('Temporal’s Python SDK', () => {
  let python: string;
  beforeAll(async () => {
    python = await findPythonWith('temporalio', 'requirements.txt');
  }, PYTHON_TIMEOUT_MS);

  const [succeeding, failing] = commandsOf(sectionOf(page, 'In Python'));
  const run = (shown: ShownCommand | undefined) => {
    if (!shown) throw new Error('The page does not show the command.');
    return runShown(shown, { python, 'start_job.py': PROGRAM });
  };

  test('starts a job by its type and reads its task, progress and video; the command joins the job', async () => {
    const paid = env.emulator.generations().length;
    expect(await run(succeeding)).toMatchObject({ code: 0 });
    const home = new Home();
    const args = ['generate', 'A red fox in the snow', '--duration', '5', '--id', 'fox-4', '--json'];
    const joined = await home.run(args, { TEMPORAL_ADDRESS: env.temporal.address });
    await home.remove();
    expect(joined).toMatchObject({ code: 0 });
    expect(lastLine(joined).taskId).toBe(env.emulator.generations()[paid]?.taskId);
    expect(env.emulator.generations()).toHaveLength(paid + 1);
  });

  test('reads the failure type, the task and the service’s message of a failed job', async () => {
    const failed = { kind: 'failed-task', code: 'season', message: 'no foxes today' } as const;
    env.emulator.next('submit', failed);
    expect(await run(failing)).toMatchObject({ code: 1 });
  });

  test('reads the problem of an invalid job', async () => {
    const problem = 'a job needs either a request or the taskId of a task to adopt, not both';
    const output = ['no task', `failed videogen.InvalidRequest {"message": "${problem}"}`, `…${problem}.…`];
    const command = `python start_job.py wrong-4 '{"prompt":"A red fox in the snow"}'`;
    expect(await run({ command, output })).toMatchObject({ code: 1 });
  });
});
