import { Readable } from 'node:stream';
import { readSmallFile, StorageFault } from '../../src/storage';

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
