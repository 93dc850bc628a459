import { ByteTail } from '../../src/media/byte-tail';

const MOST = 100_000;
const stream = Buffer.from(Array.from({ length: 400_000 }, (_, at) => (at * 31 + (at >> 8)) & 0xff));

test.each([1, 7, 16_383, 16_384, 16_385, 65_536, 99_999, 100_000, 100_001, 400_000])(
  'chunks of %i bytes leave the last ones, and no more than a chunk beyond',
  (chunkBytes) => {
    const tail = new ByteTail(MOST);
    for (let at = 0; at < stream.length; at += chunkBytes)
      tail.keep(Buffer.from(stream.subarray(at, at + chunkBytes)));
    expect(tail.length).toBeGreaterThanOrEqual(MOST);
    expect(tail.length).toBeLessThan(MOST + Math.max(16_384, Math.min(chunkBytes, MOST)) + 1);
    expect(Buffer.concat(tail.pieces()).equals(stream.subarray(-tail.length))).toBe(true);
  },
);

test('small chunks and large ones are kept in their order', () => {
  const tail = new ByteTail(MOST);
  for (let at = 0, size = 1; at < stream.length; at += size, size = (size * 7) % 50_021)
    tail.keep(Buffer.from(stream.subarray(at, at + size)));
  expect(Buffer.concat(tail.pieces()).equals(stream.subarray(-tail.length))).toBe(true);
});

test('fewer bytes than are wanted are all kept', () => {
  const tail = new ByteTail(MOST);
  tail.keep(stream.subarray(0, 10));
  tail.keep(Buffer.alloc(0));
  expect(Buffer.concat(tail.pieces()).equals(stream.subarray(0, 10))).toBe(true);
});
