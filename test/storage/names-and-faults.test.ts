import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import {
  digestOfJob,
  fileName,
  RECORD_IO_MS,
  readWithFaults,
  StorageFault,
  storageFault,
  withinTime,
} from '../../src/storage';
import { DEFAULT_KEY_TEMPLATE, storageKey } from '../../src/storage/storage-key';

const FOX = { namespace: 'default', job: 'fox' };
const request = { prompt: 'A red fox', duration: 5, seed: 7 };

// A worker of the next version must find the task of a submit that one of this version lost.
test('what identifies a job is the same in every version, in whatever order its request has its fields', () => {
  const material = '["default","fox",[["duration",5],["prompt","A red fox"],["seed",7]]]';
  const digest = createHash('sha256').update(material).digest('hex');
  expect(digestOfJob(FOX, request)).toBe(digest);
  expect(digestOfJob(FOX, { seed: 7, duration: 5, prompt: 'A red fox' })).toBe(digest);
});

test('an id of more than 200 characters is cut and gets a digest, the same in every version: files are found by it', () => {
  expect(fileName('x'.repeat(200))).toBe('x'.repeat(200));
  expect(fileName('x'.repeat(201))).toBe(`${'x'.repeat(167)}-84a0678c90937f5dcf9994d5866668da`);
  expect(fileName(`${'x'.repeat(200)}y`)).not.toBe(fileName('x'.repeat(201)));
});

test.each(['.', '..', '.hidden', 'fox.v1', '../a/b.c', 'a\\b', 'é 🦊', '%2F', 'a$&b', '{ext}'])(
  'the id %j is one file name, and not that of a hidden file',
  (id) => {
    const name = fileName(id);
    expect(name).toMatch(/^[^./\\][^/\\]*$/);
    expect(decodeURIComponent(name)).toBe(id);
    expect(name.slice(1).includes('.')).toBe(id.slice(1).includes('.'));
  },
);

describe('the key of a video', () => {
  const parts = {
    workflowId: 'job/1',
    taskId: 'task 1',
    startedAtMs: Date.parse('2026-11-15T23:59:59.999Z'),
    extension: 'webm',
  };
  const key = (jobKey?: string, template = DEFAULT_KEY_TEMPLATE, more = {}) =>
    storageKey(jobKey, template, { ...parts, ...more });

  test.each([
    ['that of the job', 'foxes/red', undefined, 'foxes/red'],
    ['that of the job, with the extension of the video', 'foxes/red.{ext}', undefined, 'foxes/red.webm'],
    ['its prefix and the template of the worker', 'foxes/', '{date}.{ext}', 'foxes/2026-11-15.webm'],
    ['a prefix that is a template', '{date}/{taskId}/', undefined, '2026-11-15/task%201/job%2F1.webm'],
    ['the default', undefined, undefined, 'job%2F1.webm'],
    ['the template', undefined, '{date}/{workflowId}/v.{ext}', '2026-11-15/job%2F1/v.webm'],
  ])('is %s', (_what, jobKey, template, expected) => {
    expect(key(jobKey, template)).toBe(expected);
  });

  test('has parts of at most 240 bytes; a longer one is cut between two characters and keeps its extension', () => {
    const longest = `${'狐'.repeat(78)}ab.mp4`;
    expect(Buffer.byteLength(longest)).toBe(240);
    expect(key(longest)).toBe(longest);
    expect(key(`x${longest}`)).toMatch(/^x狐+-[0-9a-f]{32}\.mp4$/);
    expect(key('x'.repeat(300))).toMatch(/^x+-[0-9a-f]{32}$/);
    expect(key(`a.mp4 ${'x'.repeat(300)}`)).toMatch(/^a\.mp4 x+-[0-9a-f]{32}$/);
    expect(key(`a\ufffd${'狐'.repeat(100)}.mp4`)).toMatch(/^a\ufffd狐{66}-[0-9a-f]{32}\.mp4$/);
  });
});

test.each<[string, unknown, string, string | undefined]>([
  ['a plain error', new Error('it broke'), 'it broke', undefined],
  ['an error of the system', coded('ENOSPC: disk full', 'ENOSPC'), 'ENOSPC: disk full', 'ENOSPC'],
  ['an error without a message', coded('', 'ECONNREFUSED'), 'ECONNREFUSED', 'ECONNREFUSED'],
])('%s becomes a fault that says the same', (_, error, message, code) => {
  const fault = storageFault(error);
  expect(fault).toBeInstanceOf(StorageFault);
  expect(fault).toMatchObject({ message, code, isFinal: false, name: 'StorageFault' });
  expect(fault.cause).toBeUndefined();
  expect(storageFault(fault)).toBe(fault);
});

function coded(message: string, code: unknown): Error {
  return Object.assign(new Error(message), { code });
}

test('a fault of a megabyte is cut, its code too', () => {
  const long = 'x'.repeat(1_000_000);
  const fault = storageFault(Object.assign(coded(long, long), { name: long }));
  expect(fault.message.length).toBeLessThanOrEqual(2_000);
  expect(fault.code?.length).toBeLessThanOrEqual(10_000);
});

test('a stored file that fails before anybody listens is a fault, and does not end the process', async () => {
  const source = new PassThrough();
  const reader = readWithFaults(source);
  const closed = new Promise((resolve) => reader.once('close', resolve));
  source.destroy(new Error('EIO: i/o error'));
  await closed;
  expect(reader.errored).toMatchObject({ name: 'StorageFault', message: 'EIO: i/o error' });
});

test('a storage that never answers is given up, and its error after that does not end the process', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  try {
    let fail: (error: Error) => void = () => undefined;
    const late = new Promise<void>((_, reject) => {
      fail = reject;
    });
    const answer = withinTime(() => late).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(RECORD_IO_MS);
    expect(await answer).toMatchObject({
      name: 'StorageFault',
      message: `no answer within ${RECORD_IO_MS / 1_000} s`,
    });
    fail(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    jest.useRealTimers();
  }
});
