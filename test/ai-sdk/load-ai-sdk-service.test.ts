import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DIST = join(__dirname, '../../dist/src');
const ENTRY = join(DIST, 'ai-sdk/index.js');
let folder: string;
let program: ChildProcess;

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
  const file = join(folder, 'program.cjs');
  writeFileSync(file, PROGRAM);
  program = fork(file, { cwd: folder });
});

afterAll(async () => {
  if (program.kill()) await once(program, 'close');
  rmSync(folder, { recursive: true, force: true });
});

/** Runs what it is sent, in the folder of the packages. Jest itself cannot import ES modules. */
const PROGRAM = `const { loadAiSdkService, findAiSdkProblem } = require(${JSON.stringify(ENTRY)});
  process.on('message', async (code) => {
    const outcome = await eval('(async () => {' + code + '})()').catch((error) => String(error.stack));
    process.send(JSON.stringify(outcome));
  });`;

/** What a piece of code returns in the process of this file, which loads everything once. */
async function outcomeOf<T>(code: string): Promise<T> {
  program.send(code);
  const [outcome] = await once(program, 'message');
  return JSON.parse(outcome);
}

test('a package is loaded by its name, with its settings and the key of each call', async () => {
  const tasks = await outcomeOf(`
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
  const problems = await outcomeOf(`
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

describe('a model that a command names with --service', () => {
  type Use = [service: string, env: Record<string, string>];
  interface UsedModels {
    names: string;
    services: Record<string, object>;
    printed: string;
  }

  /** What a command then uses: the names, the file, and what it printed; or why it refuses. */
  const used = async <T = UsedModels>(...uses: Use[]): Promise<T[]> =>
    outcomeOf(`
      const { useModels } = require(${JSON.stringify(join(DIST, 'cli/ai-sdk-models.js'))});
      const { readSetting } = require(${JSON.stringify(join(DIST, 'config/settings.js'))});
      const use = async ([service, given]) => {
        const env = { VIDEOGEN_DATA: 'data', ...given };
        const lines = [];
        const names = await useModels(service, { env, err: (line) => lines.push(line) });
        const file = readSetting('VIDEOGEN_SERVICES_FILE', env)?.services ?? {};
        const services = Object.fromEntries(Object.entries(file).map(([name, { aiSdk, key }]) => [name, { aiSdk, key }]));
        return { names, services, printed: lines.join('') };
      };
      const outcomes = [];
      for (const one of ${JSON.stringify(uses)}) outcomes.push(await use(one).catch(({ message }) => message));
      return outcomes;`);

  const KEY = { GOOD_API_KEY: 'a-key-of-good' };

  it('is in a file of services, which other commands can use too', async () => {
    const good = (model: string) => ({
      aiSdk: { package: '@test/good', model },
      key: { env: 'GOOD_API_KEY' },
    });
    const [one, two, named] = await used(
      ['@test/good:m', KEY],
      ['@test/good:v/1, @test/good:v-1', KEY],
      ['good', {}],
    );
    expect(one).toEqual({
      names: expect.stringMatching(/^good-m-\w{8}$/),
      services: { [one?.names ?? '']: good('m') },
      printed: expect.stringMatching(
        /^The service is good-m-\w+\. For other .* export VIDEOGEN_SERVICES_FILE=\S+\n$/,
      ),
    });
    // Names that look alike are two.
    expect(new Set(two?.names.split(',')).size).toBe(2);
    expect(Object.values(two?.services ?? {})).toEqual([good('v/1'), good('v-1')]);
    // The name of a service passes as it is.
    expect(named).toEqual({ names: 'good', services: {}, printed: '' });

    const [, file = ''] = /FILE=(\S+)/.exec(one?.printed ?? '') ?? [];
    expect(readFileSync(file, 'utf8')).not.toContain(KEY.GOOD_API_KEY);
    // As the command has proposed.
    expect(await used(['@test/good:m', { ...KEY, VIDEOGEN_SERVICES_FILE: file }])).toEqual([one]);
  });

  it('is refused in one sentence that says what to do', async () => {
    const refusals: [service: string, why: string, env?: Record<string, string>][] = [
      ['@test/missing:m', '@test/missing is not installed: run `npm install @test/missing@latest`'],
      ['@test/good:m', 'GOOD_API_KEY is not set: put the key of the service there.'],
      ['@test/good:m,other', 'one of them is not a model: write each as @ai-sdk/fal:veo3'],
      ['@test/good:m,', 'one of them is not a model: write each as @ai-sdk/fal:veo3'],
      ['https://api.example.com', 'write a model as @ai-sdk/fal:veo3'],
      ['fs:veo3', 'write a model as @ai-sdk/fal:veo3'],
      ['../good:m', 'write a model as @ai-sdk/fal:veo3'],
      ['@test/good:', 'write a model as @ai-sdk/fal:veo3'],
      [
        '@test/good:m',
        'VIDEOGEN_SERVICES_FILE has services of its own',
        { ...KEY, VIDEOGEN_SERVICES_FILE: 'services.yaml' },
      ],
      [
        '@test/good:m',
        'the workers of the configured Temporal server',
        { ...KEY, TEMPORAL_ADDRESS: '127.0.0.1:1' },
      ],
      [
        '@test/good:m',
        'VIDEOGEN_DATA, the folder /dev/null, cannot be written',
        { ...KEY, VIDEOGEN_DATA: '/dev/null' },
      ],
    ];
    const outcomes = await used<string>(...refusals.map(([service, , env = {}]): Use => [service, env]));
    expect(outcomes).toEqual(
      refusals.map(([service, why]) => expect.stringContaining(`--service is ${service}: ${why}`)),
    );
  });
});
