import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { videoModel } from '../../src/ai-sdk';
import type { VideoJob } from '../../src/client/video-job';
import { parseJobInput } from '../../src/contract/job-input';
import * as names from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { callOf } from '../ai-sdk/model-call';
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
import {
  failureOf,
  inWorld,
  keepRunning,
  pause,
  quickWorkflows,
  untilProgress,
  type World,
  type WorldOptions,
} from '../support/world';
import { AiSdkProject } from './ai-sdk-project';

// Whoever starts jobs without our client and commands: the AI SDK, the temporal command, other languages.

let env: VideoTestEnvironment;
let stopWorker: (() => Promise<void>) | undefined;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 64 * 1024 },
  });
  stopWorker = keepRunning(await env.createWorker({ worker: quickWorkflows() }));
});
afterAll(async () => {
  await stopWorker?.();
  await env.teardown();
});

/** One process for several calls, because loading `ai` takes longer than the calls. */
const CALLS = `
import { createHash } from 'node:crypto';
import { APICallError, experimental_generateVideo, experimental_getVideoStatus, experimental_startVideo } from 'ai';
import { videoModel } from 'temporal-videogen/ai-sdk';

globalThis.AI_SDK_LOG_WARNINGS = false;
const prompts = JSON.parse(process.env.PROMPTS);
const model = videoModel();
const poll = { intervalMs: 50 };
const sha256Of = ({ uint8Array }) => createHash('sha256').update(uint8Array).digest('hex');

const { message, name, isRetryable, error } = await experimental_generateVideo({ model, prompt: prompts.bad })
  .catch((error) => ({ message: error.message, name: error.name, isRetryable: error.isRetryable, error }));
const again = await experimental_generateVideo({ model, prompt: prompts.bad }).catch(String);
const failed = await experimental_startVideo({ model, prompt: prompts.bad });
const asked = await experimental_getVideoStatus(model, { operation: failed.operation });
const { operation, warnings } = await experimental_startVideo({ model, prompt: prompts.one, fps: 24 });
const polled = await experimental_generateVideo({ model, prompt: prompts.one, poll });
const { videos, response, ...status } = await experimental_getVideoStatus(model, { operation });
const several = await experimental_generateVideo({ model, prompt: prompts.one, n: 2 }).catch(String);
console.log(JSON.stringify({
  started: { operation, features: warnings.map(({ feature }) => feature) },
  status: { ...status, types: videos.map(({ type }) => type) },
  polled: polled.videos.map(sha256Of),
  several,
  failure: { message, name, isRetryable, isApiCallError: APICallError.isInstance(error), data: error.data },
  again,
  asked,
}));
await model.close();
`;

describe('the AI SDK', () => {
  let project: AiSdkProject;
  /** Where nothing listens; the SDK tries for ten seconds, while other tests run. */
  const elsewhere = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const lonelyModel = videoModel({ env: elsewhere });
  let unanswered: Promise<unknown>;
  beforeAll(() => {
    unanswered = failureOf(lonelyModel.doStart(callOf()));
    project = new AiSdkProject();
  });
  afterAll(() => project.remove());

  const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  /** A prompt that no other test has: the same call would join their job. */
  const newPrompt = () => `A red fox ${randomUUID()}`;

  /** The emulator's videos are ready at once, so nothing waits for the usual first poll. */
  const SOON: WorldOptions = { jobTimeMs: 0, profile: { polling: { min: 100, max: 500 } } };

  /** A world, and a model whose jobs run in it. */
  const withModel = (
    options: WorldOptions,
    work: (world: World & { model: ReturnType<typeof videoModel> }) => Promise<void>,
  ) =>
    inWorld(env, { ...SOON, ...options }, (world) => {
      const storage = createFileStorage(world.storageFolder);
      return work({ ...world, model: videoModel({ client: world.videos, storage }) });
    });

  const settingsOf = ({ taskQueue, storageFolder }: World) => ({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storageFolder,
  });

  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await pause();
  }

  describe('generateVideo of the package ai', () => {
    const [program = ''] = blocksOf(sectionOf(readPage('ai-sdk.md'), 'Use videogen from the AI SDK'), 'js');

    test('gives the bytes of the stored file, and after kill -9 the same call joins the job instead of paying again', async () => {
      await inWorld(env, { ...SOON, jobTimeMs: 1_500 }, async (world) => {
        const { emulator, videos, storedFiles, storageFolder } = world;
        const killed = project.start(program, settingsOf(world));
        const failed = killed.ended.then((code) =>
          Promise.reject(new Error(`it ended with ${code}: ${killed.err()}`)),
        );
        await Promise.race([until(() => emulator.generations().length > 0), failed]);
        killed.kill('SIGKILL');
        expect(await killed.ended).toBeNull();
        expect(killed.out()).toBe('');

        const printed = await project.run(program, settingsOf(world));
        const [, workflowId = '', sha256] = /^(ai-sdk-\S+) (\w+)\n$/.exec(printed) ?? [];
        expect(emulator.generations()).toHaveLength(1);
        const { video } = await videos.handle(workflowId).result();
        expect(sha256).toBe(video.sha256);
        expect(sha256Of(await readFile(join(project.folder, 'fox.mp4')))).toBe(video.sha256);
        const [file = ''] = (await storedFiles()).filter((name) => name.endsWith('.mp4'));
        expect(sha256Of(await readFile(join(storageFolder, file)))).toBe(video.sha256);
      });
    });

    test('starts and asks for the status, warns, refuses several videos, and repeats no failed job', async () => {
      await inWorld(env, SOON, async (world) => {
        const { emulator, videos } = world;
        const prompts = { one: newPrompt(), bad: newPrompt() };
        // For the first call of the program.
        emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
        const settings = { ...settingsOf(world), PROMPTS: JSON.stringify(prompts) };
        const printed = JSON.parse(await project.run(CALLS, settings));
        const { started, status, polled, several, failure } = printed;
        expect(started).toEqual({
          operation: expect.stringMatching(/^ai-sdk-[0-9a-f]{32}$/),
          features: ['fps'],
        });
        const { video, ...result } = await videos.handle(started.operation).result();
        expect(status).toMatchObject({
          status: 'completed',
          types: ['binary'],
          // All that the result of the job says.
          providerMetadata: {
            videogen: { workflowId: started.operation, phase: 'succeeded', ...video, ...result },
          },
        });
        expect(polled).toEqual([video.sha256]);
        expect(several).toContain('make one call for each video');
        expect(failure).toMatchObject({ name: 'AI_APICallError', isRetryable: false, isApiCallError: true });
        const [{ taskId } = {}] = emulator.generations();
        expect(failure.data).toMatchObject({ type: 'GenerationFailed', taskId });
        expect(failure.message).toContain(`(task ${taskId}): code season, no foxes today`);
        expect(printed.again).toContain('was not retried');
        expect(printed.asked).toMatchObject({
          status: 'error',
          error: expect.stringContaining('code season, no foxes today'),
        });
        expect(emulator.generations()).toHaveLength(2);
      });
    });
  });

  describe('a call', () => {
    test('whose submit is lost says how to decide instead of waiting, and joins its job after the decision', async () => {
      await withModel({}, async ({ model, emulator, videos }) => {
        const call = callOf({ prompt: newPrompt() });
        emulator.next('submit', { kind: 'reset' });
        const error = await failureOf(model.doGenerate(call));
        expect(error).toMatchObject({ isRetryable: false, data: { type: 'SubmitUnconfirmed' } });
        expect(String(error)).toContain('videogen decide');

        const { operation } = await model.doStart(call);
        expect(await model.doStatus({ operation })).toMatchObject({
          status: 'pending',
          warnings: [
            { type: 'other', message: expect.stringContaining(`videogen decide ${operation} --adopt`) },
          ],
        });
        const [{ taskId = '' } = {}] = emulator.generations();
        await videos.handle(String(operation)).decideSubmit({ decision: 'adopt', taskId });
        const { providerMetadata } = await model.doGenerate(call);
        expect(providerMetadata.videogen).toMatchObject({ workflowId: operation, taskId });
        expect(emulator.generations()).toHaveLength(1);
      });
    });

    test('that is aborted ends its waiting, and the job continues; aborted before its job is started, it starts none', async () => {
      await withModel({ jobTimeMs: 60_000 }, async ({ model, emulator, videos }) => {
        const controller = new AbortController();
        const given = { prompt: newPrompt(), abortSignal: controller.signal };
        const waiting = failureOf(model.doGenerate(callOf(given)));
        await until(() => emulator.generations().length > 0);
        const name = `ai-sdk-fox-${randomUUID()}`;
        const named = callOf({ abortSignal: controller.signal, providerOptions: { videogen: { name } } });
        const unstarted = failureOf(videoModel({ client: videos }).doGenerate(named));
        controller.abort(new Error('nobody waits'));
        for (const outcome of [waiting, unstarted, failureOf(model.doStart(named))])
          expect(String(await outcome)).toBe('Error: nobody waits');
        expect(await videos.find(name)).toBeUndefined();
        const { operation } = await model.doStart(callOf({ ...given, abortSignal: undefined }));
        expect((await videos.find(operation))?.state).toBe('running');
      });
    });
  });

  test('a job is handed over by the models of its scope alone, under the id of the call or a name', async () => {
    await inWorld(env, SOON, async ({ videos: client, storageFolder }) => {
      const storage = createFileStorage(storageFolder);
      const shop = videoModel({ client, storage, scope: 'shop-' });
      const others = [videoModel({ client, storage, scope: 'blog-' }), videoModel({ client, storage })];
      const call = callOf({ prompt: newPrompt() });
      const name = randomUUID();
      const named = callOf({ prompt: newPrompt(), providerOptions: { videogen: { name } } });
      const operations = [(await shop.doStart(call)).operation, (await shop.doStart(named)).operation];
      expect(operations).toEqual([expect.stringMatching(/^shop-[0-9a-f]{32}$/), `shop-${name}`]);
      for (const operation of operations) {
        await client.handle(String(operation)).result();
        expect(await shop.doStatus({ operation })).toMatchObject({ status: 'completed' });
        for (const other of others)
          expect(String(await failureOf(other.doStatus({ operation })))).toContain('not one of this model');
      }
    });
  });

  test('a server that cannot be reached is an error that ai repeats, and the next call connects again', async () => {
    expect(await unanswered).toMatchObject({
      isRetryable: true,
      message: expect.stringContaining('Temporal cannot be reached at 127.0.0.1:1'),
    });
    elsewhere.TEMPORAL_ADDRESS = env.temporal.address;
    expect(await lonelyModel.doStatus({ operation: 'ai-sdk-no-such-job' })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('Temporal has no video job ai-sdk-no-such-job'),
    });
    for (const operation of [{ jobId: 7 }, 'order-17'])
      expect(String(await failureOf(lonelyModel.doStatus({ operation })))).toContain('not one of this model');
    await lonelyModel.close();
  });
});

describe('without any SDK of ours', () => {
  /** In other languages, and by the command. */
  const page = readPage('other-languages.md');
  const PROGRAM = join(__dirname, '../support/python/start_job.py');
  const request = { prompt: 'A red fox in the snow', duration: 5 };

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
    async function untilEvent(
      { workflowId }: VideoJob,
      isIt: (event: HistoryEvent) => boolean,
    ): Promise<void> {
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
  });
});
