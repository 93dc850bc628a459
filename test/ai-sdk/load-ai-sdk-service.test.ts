import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ENTRY = join(__dirname, '../../dist/src/ai-sdk/index.js');
let folder: string;

const PACKAGES: Record<string, string> = {
  // As packages of the AI SDK are: ES modules, with the settings that a provider is made with.
  '@test/good': `export const createGood = ({ apiKey, baseURL, fetch, region }) => ({
    videoModel: (modelId) => ({
      specificationVersion: 'v4', provider: 'good.video', modelId, config: { fetch },
      doStart: async () => ({ operation: { apiKey: apiKey.slice(0, 3), baseURL, region }, warnings: [] }),
      doStatus: async () => ({ status: 'pending' }),
    }),
  });`,
  // As npm installs it on Node 20: an older version.
  '@test/old': `export const createOld = () => ({
    video: (modelId) => ({ specificationVersion: 'v3', provider: 'old.video', modelId, doGenerate: async () => ({}) }),
  });`,
  '@test/text-only': 'export const createTextOnly = () => ({ languageModel: () => ({}) });',
  '@test/no-provider': 'export const version = 1;',
  '@test/broken': "import 'a-package-that-is-not-there'; export const createBroken = () => ({});",
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-'));
  for (const [name, code] of Object.entries(PACKAGES)) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(path, { recursive: true });
    writeFileSync(
      join(path, 'package.json'),
      JSON.stringify({ name, type: 'module', exports: './index.js' }),
    );
    writeFileSync(join(path, 'index.js'), code);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a program prints that runs in the folder of the packages. Jest itself cannot import ES modules. */
async function printed(code: string): Promise<unknown> {
  const program = `const { loadAiSdkService, findAiSdkProblem } = require(${JSON.stringify(ENTRY)});
    (async () => { console.log(JSON.stringify(await (async () => { ${code} })())); })();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder });
  return JSON.parse(stdout);
}

test('a package is loaded by its name, with its settings and the key of each call', async () => {
  const tasks = await printed(`
    let key = 'one-0123456789';
    const service = loadAiSdkService({
      package: '@test/good', model: 'm', apiKey: () => key, baseUrl: 'https://proxy.example', settings: { region: 'eu' },
    });
    const first = await service.start({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
    key = 'two-0123456789';
    const second = await service.start({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
    await service.close();
    return [first.taskId, second.taskId, service.address];`);
  const operation = (apiKey: string) =>
    JSON.stringify({ apiKey, baseURL: 'https://proxy.example', region: 'eu' });
  expect(tasks).toEqual([operation('one'), operation('two'), 'ai-sdk://good.video/m']);
});

test('what is wrong with a package is one sentence that says what to do, and nothing is sent', async () => {
  const names = [...Object.keys(PACKAGES), '@test/missing'];
  const problems = await printed(`
    const problems = [];
    for (const name of ${JSON.stringify(names)})
      problems.push((await findAiSdkProblem({ package: name, model: 'm' })) ?? 'none');
    const service = loadAiSdkService({ package: '@test/missing', model: 'm' });
    const fault = await service.start({ prompt: 'A red fox' }, { idempotencyKey: 'k' }).catch((error) => error);
    await service.close();
    return [...problems, fault.message];`);
  const missing =
    '@test/missing is not installed: run `npm install @test/missing@latest` where the worker runs';
  expect(problems).toEqual([
    'none',
    'the model old.video/m has no doStart and doStatus, so its tasks cannot be polled one by one: run `npm install @test/old@latest`, or reach the service by a profile',
    '@test/text-only has no video models in the version that is installed: run `npm install @test/text-only@latest`',
    '@test/no-provider exports no function whose name begins with create, as providers of the AI SDK do',
    expect.stringMatching(/^@test\/broken could not be loaded on Node [\d.]+: .*a-package-that-is-not-there/),
    missing,
    `not-sent: ${missing}`,
  ]);
});
