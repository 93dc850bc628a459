import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/testing/emulator';
import { OWN_INTERFACES } from '../../src/testing/emulator/dialects/own-interfaces';
import { PROVIDER_REQUESTS, type ProviderRequest } from '../service/provider-requests';

/** What a client of the real service sends beside the body. */
const HEADERS: Partial<Record<ProviderRequest['dialect'], Record<string, string>>> = {
  fal: { authorization: 'Key emulator-key' },
  veo: { 'x-goog-api-key': 'emulator-key' },
  runway: { authorization: 'Bearer emulator-key', 'x-runway-version': '2024-11-06' },
  dashscope: { authorization: 'Bearer emulator-key', 'x-dashscope-async': 'enable' },
};
const headersOf = (dialect: ProviderRequest['dialect']) =>
  HEADERS[dialect] ?? { authorization: 'Bearer emulator-key' };

let emulator: Emulator;
let started: Emulator | undefined;
afterEach(async () => {
  await started?.close();
  started = undefined;
});

const start = async (options: EmulatorOptions) => {
  emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 10_000, ...options });
  started = emulator;
};

const post = async (path: string, body: object, headers: Record<string, string>) => {
  const response = await fetch(emulator.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
};

test('every service whose requests are known has one here', () => {
  const here = new Set(PROVIDER_REQUESTS.map(({ dialect }) => dialect));
  expect([...here].sort()).toEqual(Object.keys(OWN_INTERFACES).sort());
});

test.each(PROVIDER_REQUESTS)('a request of $dialect to $path is read as what it means', async (given) => {
  const { dialect, path, body, means } = given;
  await start({ dialect });
  const answer = await post(path, body, headersOf(dialect));
  expect(answer.text).toContain(emulator.generations().map((task) => emulator.idOf(task))[0]);
  expect(emulator.generations()).toMatchObject([{ request: means }]);
  expect(emulator.calls).toMatchObject([{ call: 'submit', path, body, authorized: true }]);
});

test.each(PROVIDER_REQUESTS)('$dialect refuses the words of the interface at $path', async (given) => {
  const { dialect, path, body, means } = given;
  await start({ dialect });
  // fal calls it image_url too.
  const stranger = dialect === 'fal' ? 'image' : 'image_url';
  const added = await post(path, { ...body, [stranger]: 'https://example.com/a.png' }, headersOf(dialect));
  expect(added.text).toContain('Unrecognized key');
  const { text } = await post(path, { ...means, duration: 7 }, headersOf(dialect));
  // xAI's own words are nearly the interface's: it wants a model, and no seed.
  expect(text).toMatch(/Unrecognized key|expected/);
  expect(emulator.generations()).toEqual([]);
});

test.each([
  ['runway', '/v1/text_to_video', 'the header x-runway-version must be 2024-11-06'],
  [
    'dashscope',
    '/api/v1/services/aigc/video-generation/video-synthesis',
    'the header x-dashscope-async must be enable',
  ],
] as const)('%s refuses a call without its header', async (dialect, path, problem) => {
  await start({ dialect });
  expect((await post(path, {}, { authorization: 'Bearer emulator-key' })).text).toContain(problem);
});

test.each(['fal', 'veo'] as const)('%s takes no key in the header of others', async (dialect) => {
  await start({ dialect });
  const { path = '', body = {} } = PROVIDER_REQUESTS.find((one) => one.dialect === dialect) ?? {};
  await post(path, body, { authorization: 'Bearer emulator-key' });
  expect(emulator.calls).toMatchObject([{ authorized: false, status: 401 }]);
});

test('a task of kling is found only at the path of its operation', async () => {
  await start({ dialect: 'kling' });
  const [request] = PROVIDER_REQUESTS.filter(({ path }) => path.endsWith('image2video'));
  await post('/v1/videos/image2video', request?.body ?? {}, headersOf('kling'));
  const id = emulator.generations().map((task) => emulator.idOf(task))[0];
  const found = async (operation: string) =>
    (await fetch(`${emulator.url}/v1/videos/${operation}/${id}`, { headers: headersOf('kling') })).status;
  expect([await found('image2video'), await found('text2video')]).toEqual([200, 404]);
});

test('a poll of fal has no link, and says of a failed task only that it is over', async () => {
  await start({ dialect: 'fal' });
  const { path = '', body = {} } = PROVIDER_REQUESTS.find(({ dialect }) => dialect === 'fal') ?? {};
  emulator.next('submit', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' });
  for (let i = 0; i < 2; i++) await post(path, body, headersOf('fal'));
  const [failed, made] = emulator.generations().map((task) => emulator.idOf(task));
  const ask = async (rest: string) => {
    const response = await fetch(`${emulator.url}/fal-ai/bytedance/requests/${rest}`, {
      headers: headersOf('fal'),
    });
    return { status: response.status, text: await response.text() };
  };
  for (const id of [failed, made]) {
    const { status, text } = await ask(`${id}/status`);
    expect([status, text]).toEqual([200, expect.stringContaining('COMPLETED')]);
    expect(text).not.toContain('/files/');
  }
  expect(await ask(`${failed}`)).toEqual({ status: 422, text: expect.stringContaining('too many foxes') });
  expect(await ask(`${made}`)).toEqual({ status: 200, text: expect.stringContaining('/files/') });
});

test('the page about other services names the source of every request here', () => {
  const page = readFileSync(join(__dirname, '../../docs/other-services.md'), 'utf8');
  const requests = page.slice(page.indexOf('## Where the requests come from'));
  for (const dialect of Object.keys(OWN_INTERFACES)) expect(requests).toContain(`| \`${dialect}\` |`);
});
