import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoClient } from '../../../src/client/video-client';
import { createVideoTestEnvironment } from '../../../src/testing';
import { ChildProcesses } from '../../support/child-processes';
import { blocksOf, readPage } from '../../support/docs-page';
import { testAtNight } from '../../support/nightly';
import { PACKAGES } from './packages';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName, packageOf } from './what-runs';

const ROOT = join(__dirname, '../../..');
const processes = new ChildProcesses();
const services: ImitatedService[] = [];
let folder: string;
beforeAll(() => {
  // A project in which this package and those of the providers are installed.
  folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-project-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/temporal-videogen'));
  symlinkSync(join(ROOT, 'node_modules/@temporalio'), join(folder, 'node_modules/@temporalio'));
  symlinkSync(join(ROOT, 'test/ai-sdk/node_modules/@ai-sdk'), join(folder, 'node_modules/@ai-sdk'));
});
afterEach(async () => {
  await processes.killAll();
  await Promise.all(services.splice(0).map((service) => service.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function imitated(name: ProviderName): Promise<ImitatedService> {
  const service = await startImitatedService(IMITATIONS[name]);
  services.push(service);
  return service;
}

/** What a program prints, as JSON. */
async function printed(code: string, env: Record<string, string> = {}): Promise<Record<string, string>> {
  const file = join(folder, 'program.cjs');
  writeFileSync(file, code);
  const { ended, out, err } = processes.start([file], { cwd: folder, env });
  expect([await ended, err()]).toEqual([0, '']);
  return JSON.parse(out());
}

const ASK = `const { taskId } = await service.start({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
  const { task } = await service.status(taskId);
  await service.close();`;

test('the service in the program of the page submits and polls with the package of fal', async () => {
  const { origin, apiKey, tasks } = await imitated('fal');
  const [program = ''] = blocksOf(readPage('ai-sdk.md'), 'ts');
  const [service = '', worker] = program.split(/^ {2}const worker = /m);
  expect(worker).toContain('createVideoWorker');
  // The address is all that is changed, and CommonJS is made of it.
  const commonJs = service.replace(/^import (.*) from ('.*');$/gm, 'const $1 = require($2);');
  const code = commonJs.replace("model: 'veo3',", `model: 'veo3', baseUrl: '${origin}',`);
  const { taskId } = await printed(
    `${code} ${ASK} console.log(JSON.stringify({ taskId, state: task.state })); } main();`,
    { FAL_API_KEY: apiKey },
  );
  expect(taskId).toContain('"responseUrl":"https://queue.fal.run/');
  expect(tasks()).toHaveLength(1);
});

test('every package is loaded by its name, and takes the key and the address that it is given', async () => {
  const asked = await Promise.all(
    PROVIDER_NAMES.map(async (name) => {
      const { apiKey, baseUrl } = await imitated(name);
      return { package: packageOf(name), model: PROVIDERS[name].model, baseUrl, apiKey };
    }),
  );
  const states = await printed(`const { loadAiSdkService } = require('temporal-videogen/ai-sdk');
    (async () => {
      const states = {};
      for (const { apiKey, ...asked } of ${JSON.stringify(asked)}) {
        const service = loadAiSdkService({ ...asked, apiKey: () => apiKey });
        ${ASK}
        states[asked.package] = task.state;
      }
      console.log(JSON.stringify(states));
    })();`);
  expect(Object.keys(states)).toEqual(asked.map((one) => one.package));
  const isInProgress = (state: string) => state === 'queued' || state === 'running';
  expect(Object.values(states).filter((state) => !isInProgress(state))).toEqual([]);
  expect(services.map((service) => service.tasks().length)).toEqual(asked.map(() => 1));
});

testAtNight(
  'a worker with a services file runs jobs at its entries of the AI SDK, by name and by default',
  async () => {
    const [fal, xai] = [await imitated('fal'), await imitated('xai')];
    const entry = (name: ProviderName, { baseUrl }: ImitatedService, key: object) => ({
      aiSdk: { package: packageOf(name), model: PROVIDERS[name].model, baseUrl },
      key,
      downloadAllow: ['127.0.0.1'],
    });
    const file = join(folder, 'services.json');
    writeFileSync(join(folder, 'xai.key'), xai.apiKey);
    const veo = entry('fal', fal, { env: 'FAL_KEY' });
    const grok = entry('xai', xai, { file: 'xai.key' });
    writeFileSync(file, JSON.stringify({ services: { veo, grok }, default: 'veo' }));
    // The time-skipping server would skip over timeouts while a process is still on its way to its queues.
    const env = await createVideoTestEnvironment({ server: 'dev' });
    const taskQueue = 'of-the-file';
    const worker = processes.start([join(ROOT, 'dist/src/cli/main.js'), 'worker'], {
      cwd: folder,
      env: {
        TEMPORAL_ADDRESS: env.temporal.address,
        VIDEOGEN_SERVICES_FILE: file,
        VIDEOGEN_TASK_QUEUE: taskQueue,
        VIDEOGEN_STORAGE: join(folder, taskQueue),
        FAL_KEY: fal.apiKey,
      },
    });
    const died = worker.ended.then((code) =>
      Promise.reject(new Error(`it ended with ${code}: ${worker.err()}`)),
    );
    const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
    const video = async (name: ProviderName, service?: string) => {
      const request = { prompt: 'A red fox', ...PACKAGES[name].asked };
      const job = await videos.start({ request, ...(service && { service }) });
      const made = await Promise.race([job.result(), died]);
      return readFileSync(fileURLToPath(made.video.uri));
    };
    const made = [await video('fal'), await video('xai', 'grok')];
    for (const [index, service] of [fal, xai].entries()) {
      const [task, ...others] = service.tasks();
      if (task === undefined) throw new Error('the service has no task');
      expect(others).toEqual([]);
      expect(made[index]?.equals(await service.video(task))).toBe(true);
    }
    expect(worker.out() + worker.err()).not.toContain(xai.apiKey);
    await processes.killAll();
    await env.teardown();
  },
  180_000,
);
