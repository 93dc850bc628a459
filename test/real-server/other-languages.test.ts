import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { findPythonClient, PYTHON_TIMEOUT_MS } from '../support/python-client';
import { type Printed, runInShell } from '../support/temporal-command';
import { quickWorkflows, untilProgress } from '../support/world';

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
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
  };
});
afterAll(async () => {
  await stopWorker();
  await env.teardown();
});

const shell = (command: string) => runInShell(env.temporal.address, command);

/** Runs a command of the page, and expects the output on the page. */
async function runShown(shown: ShownCommand, replaced: Record<string, string> = {}): Promise<Printed> {
  const words = Object.entries(replaced);
  const command = words.reduce((text, [word, by]) => text.replace(word, by), shown.command);
  const printed = await shell(command);
  expectShown(shown, printed.text);
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
  test('starts a job, follows it and gets its video', async () => {
    const commands = commandsOf(sectionOf(page, 'With the temporal command'));
    expect(commands).toHaveLength(5);
    for (const shown of commands) expect(await runShown(shown)).toMatchObject({ code: 0 });
    expect(env.emulator.generations().map((task) => task.request)).toEqual([request]);
  });

  test('does not start the same job twice, and our client joins it', async () => {
    const [first] = commandsOf(sectionOf(page, 'With the temporal command'));
    if (first) await runShown(first);
    expect(await shell(`${first?.command} --fail-existing`)).toMatchObject({
      code: 1,
      text: expect.stringContaining('already'),
    });
    const job = await env.videos.start({ request }, { workflowId: 'fox-1' });
    expect((await job.result()).video.uri).toMatch(/fox-1\.mp4$/);
    expect(env.emulator.generations()).toHaveLength(1);
  });

  test('starts a job whose submit waits in line with those of all other clients', async () => {
    await start('in-line', { request, polling: { min: '1s', max: '1s' } });
    await env.videos.handle('in-line').result();
    const { events } = await historyOf(env.temporal.client, 'in-line');
    const scheduled = events?.map((event) => event.activityTaskScheduledEventAttributes);
    const own = names.DEFAULT_TASK_QUEUE;
    expect(scheduled?.flatMap((activity) => activity?.taskQueue?.name ?? [])).toEqual([
      names.submitQueueOf(own),
      own,
    ]);
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
    const problemOf = async (workflowId: string, job: object) => {
      await start(workflowId, job);
      const { code, text } = await shell(`temporal workflow result --workflow-id ${workflowId}`);
      expect(code).toBe(1);
      return text;
    };
    expect(await problemOf('wrong-2', { request: { ...request, aspectRatio: '16:9' } })).toContain(
      'The request was refused: "aspectRatio": not a field of the request; the fields are prompt, image_url, resolution, aspect_ratio, duration, seed. Change the request as the message says and start a new job.',
    );
    expect(await problemOf('wrong-3', { request, deadline: 'soon' })).toContain(
      'The request was refused: deadline must be milliseconds or a duration such as "90s", "30m" or "2h". Change the request as the message says and start a new job.',
    );
    expect(env.emulator.generations()).toHaveLength(paid);
  });
});

describe('Temporal’s Python SDK', () => {
  let python: string;
  beforeAll(async () => {
    python = await findPythonClient();
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
