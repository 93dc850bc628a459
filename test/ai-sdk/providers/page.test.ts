import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { createVideoClient } from '../../../src/client/video-client';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../../src/testing';
import { ChildProcesses } from '../../support/child-processes';
import { blocksOf, readPage } from '../../support/docs-page';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName, packageOf } from './what-runs';

const ROOT = join(__dirname, '../../..');
const processes = new ChildProcesses();
const services: ImitatedService[] = [];
let env: VideoTestEnvironment;
let folder: string;
beforeAll(async () => {
  env = await createVideoTestEnvironment();
  // A project in which this package and those of the providers are installed.
  folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-page-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/temporal-videogen'));
  symlinkSync(join(ROOT, 'node_modules/@temporalio'), join(folder, 'node_modules/@temporalio'));
  symlinkSync(join(ROOT, 'test/ai-sdk/node_modules/@ai-sdk'), join(folder, 'node_modules/@ai-sdk'));
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
  const service = await startImitatedService(IMITATIONS[name], { clock: () => env.temporal.currentTimeMs() });
  services.push(service);
  return service;
}

function startProgram(code: string, variables: Record<string, string>) {
  const file = join(folder, 'program.cjs');
  writeFileSync(file, code);
  return processes.start([file], { cwd: folder, env: variables });
}

test('the worker of the page makes a video with the package of fal, as it is installed', async () => {
  const service = await imitated('fal');
  const [program = ''] = blocksOf(readPage('ai-sdk.md'), 'ts');
  // The address is all that is changed.
  const local = program.replace(
    "model: 'veo3',",
    `model: 'veo3', baseUrl: '${service.origin}', downloadAllow: ['127.0.0.1'],`,
  );
  expect(local).not.toBe(program);
  const { code } = transformSync(local, {
    module: { type: 'commonjs', ignoreDynamic: true },
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  });
  const worker = startProgram(code, { TEMPORAL_ADDRESS: env.temporal.address, FAL_API_KEY: service.apiKey });
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue: 'films' });
  const job = await videos.start({ prompt: 'A red fox', resolution: '720p', duration: 6 });
  const { video, taskId } = await Promise.race([
    job.result(),
    worker.ended.then((ended) =>
      Promise.reject(new Error(`the worker ended with ${ended}: ${worker.err()}`)),
    ),
  ]);
  expect(video).toMatchObject({ width: 1280, height: 720, durationSeconds: 6 });
  expect(taskId).toContain('"responseUrl":"https://queue.fal.run/');
  expect(service.tasks()).toHaveLength(1);
});

test('every package is loaded by its name, and takes the key and the address that it is given', async () => {
  const asked = await Promise.all(
    PROVIDER_NAMES.map(async (name) => {
      const { apiKey, baseUrl } = await imitated(name);
      return { package: packageOf(name), model: PROVIDERS[name].model, baseUrl, apiKey };
    }),
  );
  const program = startProgram(
    `const { loadAiSdkService } = require('temporal-videogen/ai-sdk');
    (async () => {
      const states = {};
      for (const { apiKey, ...asked } of ${JSON.stringify(asked)}) {
        const service = loadAiSdkService({ ...asked, apiKey: () => apiKey });
        const { taskId } = await service.submit({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
        const { task } = await service.poll(taskId);
        states[asked.package] = task.state;
        await service.close();
      }
      console.log(JSON.stringify(states));
    })();`,
    {},
  );
  const ended = await program.ended;
  expect([ended, program.err()]).toEqual([0, '']);
  const states: Record<string, string> = JSON.parse(program.out());
  expect(Object.keys(states)).toEqual(asked.map((one) => one.package));
  const inProgress = (state: string) => state === 'queued' || state === 'running';
  expect(Object.values(states).filter((state) => !inProgress(state))).toEqual([]);
  expect(services.map((service) => service.tasks().length)).toEqual(asked.map(() => 1));
});
