import { Readable } from 'node:stream';
import { readSmallFile, readSmallText, StorageFault, withinTime, writeSmallJson } from '../../src/storage';
import { RECORD_IO_MS } from '../../src/storage/small-files';

const BROKEN = 'Checksum mismatch';

/** A storage in which the body of a file fails a number of times. */
function breaking(times: number) {
  let reads = 0;
  return {
    reads: () => reads,
    read: async () => {
      const isBroken = ++reads <= times;
      return Readable.from(
        (async function* () {
          yield Buffer.from('{"job":');
          if (isBroken) throw new StorageFault(BROKEN);
          yield Buffer.from('"fox"}');
        })(),
      );
    },
  };
}

test.each([1, 2])(
  'a small file whose body breaks off %i time(s) is read again, from its start',
  async (times) => {
    expect(await readSmallFile(breaking(times), 'jobs/fox.json')).toBe('{"job":"fox"}');
  },
);

test('a small file whose body always breaks off is read three times, and its fault is told', async () => {
  const storage = breaking(Number.POSITIVE_INFINITY);
  await expect(readSmallFile(storage, 'jobs/fox.json')).rejects.toThrow(new StorageFault(BROKEN));
  expect(storage.reads()).toBe(3);
});

test('a storage that refuses a read is not asked again', async () => {
  const read = jest.fn(async () => {
    throw new StorageFault('no access');
  });
  await expect(readSmallFile({ read }, 'jobs/fox.json')).rejects.toThrow('no access');
  expect(read).toHaveBeenCalledTimes(1);
});

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
    (await readSmallText(Readable.from(chunks.map((chunk) => Buffer.from(chunk))))).length;
  expect(await lengthOf(half, half)).toBe(1024 * 1024);
  expect(await lengthOf(half, half, 'x')).toBe(1024 * 1024);
  expect(await lengthOf(half, `${half}x`)).toBe(512 * 1024);
});

test('an object is stored as JSON that people can read', async () => {
  const write = jest.fn(async () => ({ uri: '' }));
  await writeSmallJson({ write }, 'jobs/fox.json', { job: 'fox' });
  expect(write.mock.calls).toEqual([['jobs/fox.json', '{\n  "job": "fox"\n}\n', 'application/json']]);
});
