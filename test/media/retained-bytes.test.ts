import { ByteTail } from '../../src/media/retained-bytes';

const MIN_BYTES = 100_000;
const stream = Buffer.from(Array.from({ length: 400_000 }, (_, at) => (at * 31 + (at >> 8)) & 0xff));

test.each([1, 7, 16_383, 16_384, 16_385, 65_536, 99_999, 100_000, 100_001, 400_000])(
  'of chunks of %i bytes the last bytes are retained, and at most one chunk more',
  (chunkBytes) => {
    const tail = new ByteTail(MIN_BYTES);
    for (let at = 0; at < stream.length; at += chunkBytes)
      tail.add(Buffer.from(stream.subarray(at, at + chunkBytes)));
    expect(tail.length).toBeGreaterThanOrEqual(MIN_BYTES);
    expect(tail.length).toBeLessThan(MIN_BYTES + Math.max(16_384, Math.min(chunkBytes, MIN_BYTES)) + 1);
    expect(Buffer.concat(tail.pieces()).equals(stream.subarray(-tail.length))).toBe(true);
  },
);

test('small and large chunks are retained in their order', () => {
  const tail = new ByteTail(MIN_BYTES);
  for (let at = 0, size = 1; at < stream.length; at += size, size = (size * 7) % 50_021)
    tail.add(Buffer.from(stream.subarray(at, at + size)));
  expect(Buffer.concat(tail.pieces()).equals(stream.subarray(-tail.length))).toBe(true);
});

test('all bytes are retained when there are few', () => {
  const tail = new ByteTail(MIN_BYTES);
  tail.add(stream.subarray(0, 10));
  tail.add(Buffer.alloc(0));
  expect(Buffer.concat(tail.pieces()).equals(stream.subarray(0, 10))).toBe(true);
});
