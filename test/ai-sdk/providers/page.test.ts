import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildProcesses } from '../../support/child-processes';
import { blocksOf, readPage } from '../../support/docs-page';
import { asCommonJs, createProviderProject } from './provider-project';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName, packageOf } from './what-runs';

const processes = new ChildProcesses();
const services: ImitatedService[] = [];
let folder: string;
beforeAll(() => {
  folder = createProviderProject();
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
  // The address is all that is changed.
  const code = asCommonJs(service).replace("model: 'veo3',", `model: 'veo3', baseUrl: '${origin}',`);
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
