import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatchSettings, readBatch } from '../../src/cli/read-input';
import { ConfigError } from '../../src/config/service-config';
import { VideoFailure } from '../../src/contract/video-failure';
import { failureOf } from '../support/world';

const SERVICE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: 'sk-secret' };
const INLINE_BYTES = 200_000;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-read-batch-'));
  file = join(folder, 'foxes.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const foxes = [{ prompt: 'A red fox' }, { prompt: 'A grey fox', duration: 5 }];
const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

const read = (options: Partial<BatchSettings> = {}, env: Record<string, string> = {}) =>
  readBatch(file, { wait: true, ...options }, { VIDEOGEN_STORAGE: join(folder, 'videos'), ...env });
const readText = (content: string, options?: Partial<BatchSettings>, env?: Record<string, string>) => {
  writeFileSync(file, content);
  return read(options, env);
};

/** Requests whose file has exactly this many bytes. */
function foxesOf(bytes: number): { prompt: string }[] {
  const one = { prompt: '' };
  return [{ prompt: 'x'.repeat(bytes - toLines([one]).length) }];
}

async function refusal(order: Promise<unknown>): Promise<string> {
  const failure = await failureOf(order);
  if (!(failure instanceof VideoFailure)) throw failure;
  expect(failure).toMatchObject({ type: 'InvalidRequest', exitCode: 2 });
  return failure.details.message ?? '';
}

test('every option becomes part of the input', async () => {
  const options = { deadline: '30m', onLostSubmit: 'fail', holdFor: '2h', storage: 'foxes/' };
  const given = { ...options, window: '7', onFailure: 'stop', id: 'foxes', json: true };
  expect(await readText(toLines(foxes), given, SERVICE)).toEqual({
    workflowId: 'foxes',
    requests: foxes,
    input: { requests: foxes, window: 7, ...options, onFailure: 'stop' },
  });
});

test('the input has only the given options', async () => {
  expect((await readText(toLines(foxes), {}, SERVICE)).input).toEqual({ requests: foxes });
});

test('the emulator is polled every second', async () => {
  expect((await readText(toLines(foxes))).input).toMatchObject({ polling: { min: '1s', max: '1s' } });
});

test('the profile allows withModel fields', async () => {
  const profile = join(folder, 'profile.json');
  writeFileSync(profile, JSON.stringify({ requestFields: ['model'] }));
  const withModel = [{ prompt: 'A fox', model: 'm1' }];
  const order = await readText(toLines(withModel), {}, { ...SERVICE, VIDEOGEN_PROFILE: profile });
  expect(order.input).toEqual({ requests: withModel });
  expect(await refusal(read())).toContain(`${file}:1: "model": not a field of the request`);
});

describe('the name of a batch', () => {
  const nameOf = async (...given: Parameters<typeof readText>) => (await readText(...given)).workflowId;

  it('depends on the content of the file, and not on the options', async () => {
    const name = await nameOf(toLines(foxes));
    expect(name).toMatch(/^batch-[0-9a-f]{12}$/);
    expect(await nameOf(toLines(foxes), { window: '3', deadline: '2h', onFailure: 'stop' })).toBe(name);
    file = join(folder, 'a copy.jsonl');
    expect(await nameOf(toLines(foxes))).toBe(name);
  });

  it('differs for another file and for another service', async () => {
    const other = { ...SERVICE, VIDEO_API_BASE_URL: 'https://video.example.com' };
    const names = [
      await nameOf(toLines(foxes)),
      await nameOf(toLines([...foxes].reverse())),
      await nameOf(toLines(foxes), {}, SERVICE),
      await nameOf(toLines(foxes), {}, other),
    ];
    expect(new Set(names).size).toBe(names.length);
    // A new key is still the same account.
    expect(await nameOf(toLines(foxes), {}, { ...SERVICE, VIDEO_API_KEY: 'sk-other' })).toBe(names[2]);
  });

  it('is the given id', async () => {
    expect(await nameOf(toLines(foxes), { id: 'my foxes' })).toBe('my foxes');
  });
});

describe('a file', () => {
  it('of 200 KB is passed through Temporal, and nothing is stored', async () => {
    const requests = foxesOf(INLINE_BYTES);
    expect((await readText(toLines(requests), {}, SERVICE)).input).toEqual({ requests });
    expect(existsSync(join(folder, 'videos'))).toBe(false);
  });

  it('that is larger is passed through the storage, under a key derived from its content', async () => {
    const requests = [...foxesOf(INLINE_BYTES), { prompt: 'A fox' }];
    const { input, requests: all } = await readText(`\n${toLines(requests)}\n`, { window: '5' }, SERVICE);
    expect(all).toEqual(requests);
    expect(input).toEqual({
      requestsFrom: expect.stringMatching(/^batches\/requests-[0-9a-f]{32}\.jsonl$/),
      window: 5,
    });
    const key = input.requestsFrom ?? '';
    expect(readFileSync(join(folder, 'videos', key), 'utf8')).toBe(toLines(requests));

    expect((await read({ window: '9' })).input.requestsFrom).toBe(key);
    const changed = await readText(toLines([...requests, { prompt: 'An owl' }]));
    expect(changed.input.requestsFrom).not.toBe(key);
    expect(readFileSync(join(folder, 'videos', key), 'utf8')).toBe(toLines(requests));
  });

  it('is measured in bytes, not in characters', async () => {
    const { input } = await readText(toLines([{ prompt: '狐'.repeat(70_000) }]));
    expect(input).toHaveProperty('requestsFrom');
  });

  it.each<[string, () => void, string]>([
    ['does not exist', () => undefined, 'ENOENT'],
    ['is a folder', () => mkdirSync(file), 'EISDIR'],
  ])('that %s is refused in one sentence', async (_what, prepare, code) => {
    prepare();
    const failure = await failureOf(read());
    expect(failure).toBeInstanceOf(ConfigError);
    const message = `${file} cannot be read (${code}): give a file with one request per line.`;
    expect(failure).toMatchObject({ message });
  });

  it.each([
    ['', ': there is no request in it'],
    [`${toLines(foxes)}fox\n`, ':3: not a JSON object on one line'],
    ['{"prompt":"x","duration":11}', ':1: duration must be at most 10 (was 11)'],
  ])('that contains %j is refused with its name and line', async (content, message) => {
    expect(await refusal(readText(content))).toBe(`${file}${message}`);
  });
});

test.each<[Partial<BatchSettings>, string]>([
  [{ window: '0' }, 'window must be a whole number from 1 to 500'],
  [{ window: 'x' }, 'window must be a whole number from 1 to 500'],
  [{ window: '' }, 'window must be a whole number from 1 to 500'],
  [{ onFailure: 'retry' }, 'onFailure must be one of continue, stop'],
  [{ storage: 'fox.mp4' }, 'storage must end with / or contain {workflowId} or {taskId}'],
  [{ storage: '../' }, 'storage must be a key inside the storage'],
  [{ deadline: '30' }, 'deadline must be milliseconds or a duration'],
  [{ onLostSubmit: 'retry' }, 'onLostSubmit must be one of hold, resubmit, fail'],
])('%j is refused with its name, and nothing is stored', async (options, message) => {
  expect(await refusal(readText(toLines(foxesOf(2 * INLINE_BYTES)), options))).toContain(message);
  expect(existsSync(join(folder, 'videos'))).toBe(false);
});

test.each(['', ' ', 'x'.repeat(1_500), 'jobs'])(
  'a batch with the id %j is refused before anything is stored',
  async (id) => {
    expect(await refusal(readText(toLines(foxesOf(2 * INLINE_BYTES)), { id }))).toBe(
      '--id must be text of at most 1000 bytes, not blank and without control characters; jobs, batches, images, gateway, tasks are reserved, as names and as folders',
    );
    expect(existsSync(join(folder, 'videos'))).toBe(false);
  },
);
