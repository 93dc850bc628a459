import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFaults } from '../../src/cli/read-faults';
import { type BatchSettings, type GenerateOptions, readBatch, readJobInput } from '../../src/cli/read-input';
import { ConfigError } from '../../src/config/service-config';
import type { VideoFailure } from '../../src/contract/video-failure';
import { failureOf } from '../support/world';

const SERVICE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: 'sk-secret' };
const INLINE_BYTES = 200_000;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-read-input-'));
  file = join(folder, 'foxes.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const readJob = (
  prompt: string | undefined,
  options: Partial<GenerateOptions>,
  env: Record<string, string> = SERVICE,
) => readJobInput(prompt, { wait: true, ...options }, env);

const foxes = [{ prompt: 'A red fox' }, { prompt: 'A grey fox', duration: 5 }];
const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');
const batchOf = (content: string, options: Partial<BatchSettings> = {}, env: Record<string, string> = {}) => {
  writeFileSync(file, content);
  return readBatch(file, { wait: true, ...options }, { VIDEOGEN_STORAGE: join(folder, 'videos'), ...env });
};
/** Requests whose file has exactly this many bytes. */
function foxesOf(bytes: number): { prompt: string }[] {
  const one = { prompt: '' };
  return [{ prompt: 'x'.repeat(bytes - toLines([one]).length) }];
}

test('every option of generate becomes part of the job, and nothing else does', () => {
  const options = {
    imageUrl: 'https://example.com/fox.png',
    resolution: '720p',
    aspectRatio: '9:16',
    duration: '5',
    seed: '-7',
    deadline: '30m',
    storage: 'foxes/{date}/{workflowId}.{ext}',
    cap: ['3 videos', '20 seconds', '2.50 USD'],
  };
  expect(readJob('A red fox', { ...options, id: 'fox', out: 'fox.mp4', json: true })).toEqual({
    request: {
      prompt: 'A red fox',
      image_url: options.imageUrl,
      resolution: '720p',
      aspect_ratio: '9:16',
      duration: 5,
      seed: -7,
    },
    deadline: '30m',
    storage: options.storage,
    cap: { videos: 3, seconds: 20, money: { amount: 2.5, currency: 'USD' } },
  });
  const adopted = { adopt: 'task_1', deadline: '2h', storage: options.storage };
  expect(readJob(undefined, adopted)).toEqual({
    taskId: 'task_1',
    deadline: '2h',
    storage: options.storage,
  });
  // An id alone follows the job of that name.
  expect(readJob(undefined, { id: 'fox', deadline: '1h', out: 'fox.mp4' })).toBeUndefined();
});

test('every option of batch becomes part of the batch, and nothing else does', async () => {
  const options = { deadline: '30m', onLostSubmit: 'fail', holdFor: '2h', storage: 'foxes/' };
  const given = { ...options, window: '7', onFailure: 'stop', id: 'foxes', json: true };
  expect(await batchOf(toLines(foxes), given, SERVICE)).toEqual({
    workflowId: 'foxes',
    requests: foxes,
    input: { requests: foxes, window: 7, ...options, onFailure: 'stop' },
  });
  expect((await batchOf(toLines(foxes), {}, SERVICE)).input).toEqual({ requests: foxes });
});

test('the emulator is polled every second, a real service at the default interval', () => {
  expect(readJob('A red fox', {}, {})).toMatchObject({ polling: { min: '1s', max: '1s' } });
});

test('further fields that the profile allows become part of the request, as JSON or as text', async () => {
  const profile = join(folder, 'profile.yaml');
  writeFileSync(profile, 'requestFields: [model, size, note, n]');
  const env = { ...SERVICE, VIDEOGEN_PROFILE: profile };
  const options = { field: ['model=m1', 'size={"w":640}', 'note=a=b', 'n=5'] };
  const request = { prompt: 'A red fox', model: 'm1', size: { w: 640 }, note: 'a=b', n: 5 };
  expect(readJob('A red fox', options, env)).toEqual({ request });
  expect((await batchOf(toLines([request]), {}, env)).input).toEqual({ requests: [request] });
  const refusal = '"model", "size", "note", "n": not a field of the request';
  expect(() => readJob('A red fox', options)).toThrow(refusal);
  await expect(batchOf(toLines([request]))).rejects.toThrow(`${file}:1: ${refusal}`);
});

test('a command names its service, or gets the default of the file, with its request fields', () => {
  const services = join(folder, 'services.json');
  const key = { env: 'MAIN_KEY' };
  const fal = { baseUrl: 'https://fal.example.com', key, profile: { requestFields: ['loop'] } };
  const kling = { baseUrl: 'https://kling.example.com', key };
  writeFileSync(services, JSON.stringify({ services: { fal, kling }, default: 'kling' }));
  const env = { VIDEOGEN_SERVICES_FILE: services };
  const request = { prompt: 'A fox', loop: true };
  expect(readJob('A fox', { service: 'fal', field: ['loop=true'] }, env)).toEqual({
    request,
    service: 'fal',
  });
  expect(readJob('A fox', {}, env)).toMatchObject({ service: 'kling' });
  expect(() => readJob('A fox', { service: 'fall' }, env)).toThrow('name one of fal, kling');
  // With a Temporal elsewhere, the workers know a service that this machine does not list.
  const elsewhere = { TEMPORAL_ADDRESS: '127.0.0.1:7233' };
  expect(readJob('A fox', { service: 'any' }, elsewhere)).toMatchObject({ service: 'any' });
});

test.each<[string | undefined, Partial<GenerateOptions>, string]>([
  [undefined, {}, 'there is no prompt: describe the video'],
  [undefined, { seed: '7', id: 'fox' }, 'prompt is missing'],
  ['x', { seed: '' }, 'seed must be a whole number of at most 9007199254740991 (was "")'],
  ['x', { seed: 'Infinity' }, 'seed must be a whole number of at most 9007199254740991 (was "Infinity")'],
  [undefined, { adopt: 'task_1', seed: '7' }, 'either a request or the taskId'],
  [undefined, { adopt: '' }, 'taskId must be text'],
  ['x', { field: ['model'] }, 'give NAME=VALUE'],
  ['x', { field: ['=x'] }, 'give NAME=VALUE'],
  ['x', { cap: ['2 USD', '1 EUR'] }, '--cap has two limits in money: give one.'],
  ['x', { cap: ['1.2.3 USD'] }, '--cap is "1.2.3 USD": give a number with videos, seconds or a currency'],
])('generate with the prompt %j and %j is refused', (prompt, options, message) => {
  expect(() => readJob(prompt, options)).toThrow(message);
});

test('the name of a batch depends on the content of its file and on the service, and on nothing else', async () => {
  const nameOf = async (...given: Parameters<typeof batchOf>) => (await batchOf(...given)).workflowId;
  const name = await nameOf(toLines(foxes));
  expect(name).toMatch(/^batch-[0-9a-f]{12}$/);
  expect(await nameOf(toLines(foxes), { window: '3', deadline: '2h', onFailure: 'stop' })).toBe(name);
  file = join(folder, 'a copy.jsonl');
  expect(await nameOf(toLines(foxes))).toBe(name);
  const other = { ...SERVICE, VIDEO_API_BASE_URL: 'https://video.example.com' };
  const names = [
    name,
    await nameOf(toLines([...foxes].reverse())),
    await nameOf(toLines(foxes), {}, SERVICE),
    await nameOf(toLines(foxes), {}, other),
  ];
  expect(new Set(names).size).toBe(names.length);
  // A new key is still the same account.
  expect(await nameOf(toLines(foxes), {}, { ...SERVICE, VIDEO_API_KEY: 'sk-other' })).toBe(names[2]);
});

test('a file of up to 200 KB goes through Temporal, a larger one through the storage, under a key of its content', async () => {
  const small = foxesOf(INLINE_BYTES);
  expect((await batchOf(toLines(small), {}, SERVICE)).input).toEqual({ requests: small });
  expect(existsSync(join(folder, 'videos'))).toBe(false);
  // Bytes count, not characters.
  const large = [...small, { prompt: '狐' }];
  const content = `\n${toLines(large)}\n`;
  const { input, requests } = await batchOf(content, { window: '5' }, SERVICE);
  expect(requests).toEqual(large);
  expect(input).toEqual({
    requestsFrom: expect.stringMatching(/^batches\/requests-[0-9a-f]{32}\.jsonl$/),
    window: 5,
  });
  const key = input.requestsFrom ?? '';
  expect((await batchOf(content, { window: '9' })).input.requestsFrom).toBe(key);
  const changed = await batchOf(toLines([...large, { prompt: 'An owl' }]));
  expect(changed.input.requestsFrom).not.toBe(key);
  expect(readFileSync(join(folder, 'videos', key), 'utf8')).toBe(toLines(large));
  expect((await batchOf(toLines([{ prompt: '狐'.repeat(70_000) }]))).input).toHaveProperty('requestsFrom');
});

test.each<[Partial<BatchSettings>, string]>([
  [{ window: '' }, 'window must be a whole number from 1 to 500'],
  [{ onFailure: 'retry' }, 'onFailure must be one of continue, stop'],
  [{ storage: 'fox.mp4' }, 'storage must end with / or contain {workflowId} or {taskId}'],
  [{ id: '' }, '--id must be text of at most 1000 bytes, not blank and without control characters'],
])('a batch with %j is refused before anything is stored', async (options, message) => {
  const failure = await failureOf(batchOf(toLines(foxesOf(2 * INLINE_BYTES)), options));
  expect(failure).toMatchObject({ type: 'InvalidRequest', exitCode: 2 });
  expect((failure as VideoFailure).details.message).toContain(message);
  expect(existsSync(join(folder, 'videos'))).toBe(false);
});

test('faults are read in order, for their call, with their parameters and repetitions', () => {
  expect(readFaults([])).toEqual([]);
  const given = ['submit:rate-limited', 'status:not-found', 'status:server-errorx2', 'download:cut'];
  expect(readFaults(given)).toEqual([
    { call: 'submit', fault: { kind: 'rate-limited', retryAfter: 2 } },
    {
      call: 'status',
      fault: { kind: 'refused', status: 404, code: 'not_found', message: 'no such task' },
    },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'download', fault: { kind: 'cut', afterBytes: 1_000 } },
  ]);
});

test.each(['', 'submit:', 'cancel:reset', 'submit:cut', 'submit:resetx', 'submit:toString'])(
  'the fault %j is refused with the choices',
  (text) => {
    const read = () => readFaults(['submit:reset', text]);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(
      /^--fault is ".*": give CALL:KIND or CALL:KINDxTIMES with CALL one of submit, status, download and KIND one of rate-limited, .*\.$/,
    );
  },
);
