import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadAiSdkService } from '../../src/ai-sdk';
import { temporaryFolder } from './temporary-folder';

const ENTRY = join(__dirname, '../../dist/src/ai-sdk/index.js');
const WORK = join(__dirname, '../../dist/src/worker/video-work.js');
const { folder } = temporaryFolder();

const PACKAGES: Record<string, string> = {
  // As packages of the AI SDK are: ES modules, with the settings that a provider is made with.
  '@test/good': `export const createGood = ({ apiKey, baseURL, fetch, region }) => ({
    videoModel: (modelId) => ({
      specificationVersion: 'v4', provider: 'good.video', modelId, config: { fetch },
      doStart: async () => ({ operation: { apiKey: apiKey.slice(0, 3), baseURL, region }, warnings: [] }),
      doStatus: async () => ({ status: 'pending' }),
    }),
  });`,
  '@test/signed': `export const createSigned = ({ baseURL, fetch }) => ({
    videoModel: (modelId) => ({
      specificationVersion: 'v4', provider: 'signed.video', modelId, config: { fetch },
      doStart: async () => ({ operation: { url: baseURL + '/1?sig=c2lnbmF0dXJl' }, warnings: [] }),
      doStatus: async ({ operation }) => ({ status: operation.url === baseURL + '/1?sig=c2lnbmF0dXJl' ? 'pending' : 'odd' }),
    }),
  });`,
  '@test/text-only': 'export const createTextOnly = () => ({ languageModel: () => ({}) });',
  '@test/no-provider': 'export const version = 1;',
  '@test/broken': "import 'a-package-that-is-not-there'; export const createBroken = () => ({});",
};

beforeAll(() => {
  for (const [name, code] of Object.entries(PACKAGES)) {
    const path = join(folder(), 'node_modules', name);
    mkdirSync(path, { recursive: true });
    writeFileSync(
      join(path, 'package.json'),
      JSON.stringify({ name, type: 'module', exports: './index.js' }),
    );
    writeFileSync(join(path, 'index.js'), code);
  }
});

/** What a program prints that runs in the folder of the packages. Jest itself cannot import ES modules. */
async function printed(code: string): Promise<unknown> {
  const program = `const { loadAiSdkService, findAiSdkProblem } = require(${JSON.stringify(ENTRY)});
    (async () => { console.log(JSON.stringify(await (async () => { ${code} })())); })();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder() });
  return JSON.parse(stdout);
}

test('a package is loaded by its name, with its settings and the key of each call', async () => {
  const tasks = await printed(`
    let key = 'one-0123456789';
    const service = loadAiSdkService({
      package: '@test/good', model: 'm', apiKey: () => key, baseUrl: 'https://proxy.example', settings: { region: 'eu' },
    });
    const first = await service.submit({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
    key = 'two-0123456789';
    const second = await service.submit({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
    await service.close();
    return [first.taskId, second.taskId, service.address];`);
  const operation = (apiKey: string) =>
    JSON.stringify({ apiKey, baseURL: 'https://proxy.example', region: 'eu' });
  expect(tasks).toEqual([operation('one'), operation('two'), 'ai-sdk://good.video/m']);
});

test('a service of the services file keeps signed links in the storage of its worker, and trusts its baseUrl', async () => {
  const file = join(folder(), 'services.json');
  const aiSdk = { package: '@test/signed', model: 'm', baseUrl: 'https://signed.example' };
  writeFileSync(
    file,
    JSON.stringify({
      services: { signed: { aiSdk, key: { env: 'KEY' } } },
      default: 'signed',
    }),
  );
  const env = {
    VIDEOGEN_SERVICES_FILE: file,
    VIDEOGEN_STORAGE: join(folder(), 'videos'),
    KEY: 'sk-0123456789',
  };
  const polled = await printed(`
    const { prepareWork } = require(${JSON.stringify(WORK)});
    const work = prepareWork({ env: ${JSON.stringify(env)} });
    const { service } = work.directory.findForNew();
    const { taskId } = await service.submit({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
    const { task } = await service.poll(taskId);
    await work.close();
    return [taskId, task.state];`);
  expect(polled).toEqual([expect.stringMatching(/^operation:[0-9a-f]{64}$/), 'running']);
});

test('what is wrong with a package is one sentence that says what to do, and nothing is sent', async () => {
  const names = [...Object.keys(PACKAGES), '@test/missing'];
  const problems = await printed(`
    const problems = [];
    for (const name of ${JSON.stringify(names)})
      problems.push((await findAiSdkProblem({ package: name, model: 'm' })) ?? 'none');
    const service = loadAiSdkService({ package: '@test/missing', model: 'm' });
    const fault = await service.submit({ prompt: 'A red fox' }, { idempotencyKey: 'k' }).catch((error) => error);
    await service.close();
    return [...problems, fault.message];`);
  const missing = '@test/missing is not installed: run `npm install @test/missing` where the worker runs';
  expect(problems).toEqual([
    'none',
    'none',
    '@test/text-only has no video models in the version that is installed',
    '@test/no-provider exports no function whose name begins with create, as providers of the AI SDK do',
    expect.stringMatching(/^@test\/broken could not be loaded on Node [\d.]+: .*a-package-that-is-not-there/),
    missing,
    `not-sent: ${missing}`,
  ]);
});

test.each<[string, string]>([
  ['{"model":"m"}', 'package must be a name, such as @ai-sdk/fal'],
  ['{"package":"@ai-sdk/fal","model":""}', 'model must be a name'],
])('a service of %s is refused when it is made', (options, sentence) => {
  expect(() => loadAiSdkService(JSON.parse(options))).toThrow(sentence);
});
