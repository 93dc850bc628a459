import { once } from 'node:events';
import { Duplex, PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  RECORD_IO_MS,
  readSmallFile,
  readWithFaults,
  StorageFault,
  storageFault,
  withinTime,
  writeSmallJson,
} from '../../src/storage';

test.each<[string, unknown, string, string | undefined]>([
  ['a plain error', new Error('it broke'), 'it broke', undefined],
  ['an error with a name', new TypeError('it broke'), 'TypeError: it broke', undefined],
  ['an error of the system', coded('ENOSPC: disk full', 'ENOSPC'), 'ENOSPC: disk full', 'ENOSPC'],
  ['an error without a message', coded('', 'ECONNREFUSED'), 'ECONNREFUSED', 'ECONNREFUSED'],
  ['nothing', undefined, 'undefined', undefined],
  ['a number as its code', coded('it broke', 7), 'it broke', undefined],
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

test('what was read of a stored file before its source closed is there, also from a source that can be written to', async () => {
  const source = new Duplex({
    read() {
      this.push('a fox');
      this.push(null);
    },
  });
  const reader = readWithFaults(source);
  await once(source, 'end');
  source.destroy();
  await once(source, 'close');
  expect(await text(reader)).toBe('a fox');
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

test('a storage that has answered leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  expect(await withinTime(async () => 'a fox')).toBe('a fox');
  expect(timers()).toBe(before);
});

test('a small file has up to a mebibyte, and more is cut', async () => {
  const half = 'x'.repeat(512 * 1024);
  const lengthOf = async (...chunks: string[]) =>
    (await readSmallFile({ read: async () => Readable.from(chunks.map((chunk) => Buffer.from(chunk))) }, 'x'))
      ?.length;
  expect(await lengthOf(half, half)).toBe(1024 * 1024);
  expect(await lengthOf(half, half, 'x')).toBe(1024 * 1024);
  expect(await lengthOf(half, `${half}x`)).toBe(1024 * 1024);
});

test('an object is stored as JSON that people can read', async () => {
  const write = jest.fn(async () => ({ uri: '' }));
  await writeSmallJson({ write }, 'jobs/fox.json', { job: 'fox' });
  expect(write.mock.calls).toEqual([['jobs/fox.json', '{\n  "job": "fox"\n}\n', 'application/json']]);
});
