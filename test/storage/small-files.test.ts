import { Readable } from 'node:stream';
import { readSmallFile, StorageFault, withinTime, writeSmallJson } from '../../src/storage';
import { RECORD_IO_MS } from '../../src/storage/small-files';

test('a storage that never answers is given up', async () => {
  jest.useFakeTimers();
  try {
    const answer = withinTime(() => new Promise(() => undefined)).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(RECORD_IO_MS);
    const error = await answer;
    expect(error).toBeInstanceOf(StorageFault);
    expect(String(error)).toContain(`no answer within ${RECORD_IO_MS / 1_000} s`);
  } finally {
    jest.useRealTimers();
  }
});

test('a storage that has answered is not waited for', async () => {
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
