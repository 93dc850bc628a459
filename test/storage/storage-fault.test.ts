import { once } from 'node:events';
import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { StorageFault, StorageUnusable, storageFault, withinTime } from '../../src/storage';
import { fixForBucket } from '../../src/storage/probe';
import { isSameVideo } from '../../src/storage/same-video';
import { readWithFaults } from '../../src/storage/storage-fault';

test.each<[string, unknown, string, string | undefined]>([
  ['a plain error', new Error('it broke'), 'it broke', undefined],
  ['an error with a name', new TypeError('it broke'), 'TypeError: it broke', undefined],
  [
    'an error of the system',
    Object.assign(new Error('ENOSPC: disk full'), { code: 'ENOSPC' }),
    'ENOSPC: disk full',
    'ENOSPC',
  ],
  [
    'an error without a message',
    Object.assign(new Error(''), { code: 'ECONNREFUSED' }),
    'ECONNREFUSED',
    'ECONNREFUSED',
  ],
  ['a text', 'it broke', 'it broke', undefined],
  ['nothing', undefined, 'undefined', undefined],
  ['a number as its code', Object.assign(new Error('it broke'), { code: 7 }), 'it broke', undefined],
])('%s becomes a fault that says the same', (_, error, message, code) => {
  const fault = storageFault(error);
  expect(fault).toBeInstanceOf(StorageFault);
  expect(fault).toMatchObject({ message, code, isFinal: false, name: 'StorageFault' });
  expect(fault.cause).toBeUndefined();
  expect(storageFault(fault)).toBe(fault);
});

test('a fault of a megabyte is cut, its code too', () => {
  const long = 'x'.repeat(1_000_000);
  const fault = storageFault(Object.assign(new Error(long), { name: long, code: long }));
  expect(fault.message.length).toBeLessThanOrEqual(2_000);
  expect(fault.code?.length).toBeLessThanOrEqual(10_000);
});

test('an unusable storage names its problem once, with one full stop', () => {
  const { message, code } = new StorageUnusable('there', 'it is full.', 'Make room.', { code: 'ENOSPC' });
  expect([message, code]).toEqual(['The storage there cannot be used: it is full. Make room.', 'ENOSPC']);
});

test('a reader that stops early closes what it reads from', () => {
  const source = new PassThrough();
  const reader = readWithFaults(source);
  const closed = new Promise((resolve) => source.once('close', resolve));
  reader.destroy();
  return closed;
});

test('what was read before its source closed is there, also from a source that can be written to', async () => {
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

test('a source that fails before anybody listens does not end the process', async () => {
  const source = new PassThrough();
  const reader = readWithFaults(source);
  const closed = new Promise((resolve) => reader.once('close', resolve));
  source.destroy(new Error('EIO: i/o error'));
  await closed;
  expect(reader.errored).toBeInstanceOf(StorageFault);
});

test.each([
  ['NoSuchBucket: no', 'Create the bucket'],
  ['PermanentRedirect: no', 'Set AWS_REGION'],
  ['AccessDenied: no', 's3:ListBucket'],
  ['ExpiredToken: no', 'Set AWS_ACCESS_KEY_ID'],
  ['connect ECONNREFUSED', 'Correct AWS_ENDPOINT_URL_S3'],
  ['getaddrinfo ENOTFOUND', 'VIDEOGEN_S3_PATH_STYLE=true'],
  ['the AWS SDK is not installed', 'Install it'],
  ['NotImplemented: no', 'Use a server that honours it'],
  ['something else', 'Check the bucket'],
])('a bucket that says %j has a fix', (message, fix) => {
  expect(fixForBucket({ message })).toContain(fix);
});

test('a stored file of another length is not the same video, and is not read', async () => {
  const content = new PassThrough().end('a fox');
  expect(await isSameVideo({ bytes: 5, content }, { bytes: 6, sha256: '' })).toBe(false);
  expect([content.destroyed, content.readableDidRead]).toEqual([true, false]);
});

test('a storage that answers in time leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  await withinTime(async () => undefined);
  expect(timers()).toBe(before);
});

test('a storage that fails after its time is over does not end the process', async () => {
  let fail: (error: Error) => void = () => undefined;
  const late = new Promise<void>((_, reject) => {
    fail = reject;
  });
  await expect(withinTime(() => late, 1)).rejects.toThrow('no answer');
  fail(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
});
