import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient, type VideoClientOptions } from '../../../src/client/video-client';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../../src/testing';
import { ChildProcesses, type RunningProcess } from '../../support/child-processes';
import { blocksOf, readPage } from '../../support/docs-page';
import { PACKAGES, taskIdOf } from './packages';
import { asCommonJs, createProviderProject } from './provider-project';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import type { ProviderName } from './what-runs';

// Real time: the service takes a while for each video, and so does a process until it is at its queues.
jest.setTimeout(180_000);

let env: VideoTestEnvironment;
let folder: string;
const processes = new ChildProcesses();
const services: ImitatedService[] = [];
beforeAll(async () => {
  // The time-skipping server would skip over timeouts while a process is still on its way to its queues.
  env = await createVideoTestEnvironment({ server: 'dev' });
  folder = createProviderProject();
});
afterEach(async () => {
  await processes.killAll();
  await Promise.all(services.splice(0).map((service) => service.close()));
});
afterAll(async () => {
  await env.teardown();
  rmSync(folder, { recursive: true, force: true });
});

async function imitated(name: ProviderName): Promise<ImitatedService> {
  const service = await startImitatedService(IMITATIONS[name], { jobTimeMs: 2_000 });
  services.push(service);
  return service;
}

/** A worker in a process of its own, in the folder where the packages are installed. */
const startWorker = (args: string[], more: Record<string, string>): RunningProcess =>
  processes.start(args, { cwd: folder, env: { TEMPORAL_ADDRESS: env.temporal.address, ...more } });

/** Runs a job on the worker, and compares its video with what the service made. */
async function expectJob(
  worker: RunningProcess,
  { name, imitated: service, queues, choice = {} }: ExpectedJob,
): Promise<void> {
  const prompt = `A red fox for ${name}`;
  const videos = await createVideoClient({ client: env.temporal.client, ...queues });
  const job = await videos.start({ request: { prompt, ...PACKAGES[name].asked }, ...choice });
  const died = worker.ended.then((code) =>
    Promise.reject(new Error(`it ended with ${code}: ${worker.err()}`)),
  );
  const { video, taskId } = await Promise.race([job.result(), died]);
  const [task, ...others] = service.tasks(prompt);
  if (task === undefined) throw new Error('the service has no task');
  expect(others).toEqual([]);
  expect(taskId).toBe(taskIdOf(name, service.idOf(task), service));
  expect((await readFile(fileURLToPath(video.uri))).equals(await service.video(task))).toBe(true);
}

interface ExpectedJob {
  name: ProviderName;
  imitated: ImitatedService;
  queues: Pick<VideoClientOptions, 'taskQueue'>;
  choice?: { service?: string };
}

test('a worker with a services file runs jobs at its entries of the AI SDK, by name and by default', async () => {
  const [fal, xai] = [await imitated('fal'), await imitated('xai')];
  const entry = (name: ProviderName, { baseUrl }: ImitatedService, model: string, key: object) => ({
    aiSdk: { package: `@ai-sdk/${name}`, model, baseUrl },
    key,
    downloadAllow: ['127.0.0.1'],
  });
  const file = join(folder, 'services.json');
  writeFileSync(join(folder, 'xai.key'), xai.apiKey);
  writeFileSync(
    file,
    JSON.stringify({
      services: {
        veo: entry('fal', fal, 'veo3', { env: 'FAL_KEY' }),
        grok: entry('xai', xai, 'grok-imagine-video', { file: 'xai.key' }),
      },
      default: 'veo',
    }),
  );
  const main = join(folder, 'node_modules/temporal-videogen/dist/src/cli/main.js');
  const worker = startWorker([main, 'worker'], {
    VIDEOGEN_SERVICES_FILE: file,
    VIDEOGEN_TASK_QUEUE: 'of-the-file',
    VIDEOGEN_STORAGE: join(folder, 'of-the-file'),
    FAL_KEY: fal.apiKey,
  });
  const queues = { taskQueue: 'of-the-file' };
  await expectJob(worker, { name: 'fal', imitated: fal, queues });
  await expectJob(worker, { name: 'xai', imitated: xai, queues, choice: { service: 'grok' } });
  expect(worker.out() + worker.err()).not.toContain(xai.apiKey);
});

test('the worker of the page runs a job of a client with the queue of the page', async () => {
  const fal = await imitated('fal');
  const [program = ''] = blocksOf(readPage('ai-sdk.md'), 'ts');
  // Only the addresses are of this machine.
  const here = `model: 'veo3', baseUrl: '${fal.origin}', downloadAllow: ['127.0.0.1'],`;
  const file = join(folder, 'worker.cjs');
  writeFileSync(file, asCommonJs(program).replace("model: 'veo3',", here));
  const worker = startWorker([file], { FAL_API_KEY: fal.apiKey });
  const queues = { taskQueue: 'films' };
  expect(readPage('ai-sdk.md')).toContain(`createVideoClient({ taskQueue: '${queues.taskQueue}' })`);
  await expectJob(worker, { name: 'fal', imitated: fal, queues });
});
