import { buffer } from 'node:stream/consumers';
import { openVideoBytes } from '../../src/service/video-bytes';

const CHUNK_BYTES = 256 * 1024;
/** Not at the beginning of its memory, as the bytes of a decoded answer are. */
const VIDEO = Buffer.alloc(2 * CHUNK_BYTES + 10, 'A red fox runs. ').subarray(3);
const { validator } = openVideoBytes(VIDEO);

async function chunksOf(stream: AsyncIterable<Buffer>): Promise<number[]> {
  const lengths: number[] = [];
  for await (const chunk of stream) lengths.push(chunk.length);
  return lengths;
}

it('a video that came with the answer is read from its beginning, with its length', async () => {
  const { stream, ...facts } = openVideoBytes(VIDEO);
  expect(facts).toEqual({
    offset: 0,
    bytes: VIDEO.length,
    validator: expect.stringMatching(/^"sha256-[0-9a-f]{64}"$/),
  });
  expect((await buffer(stream)).equals(VIDEO)).toBe(true);
});

it('it is a stream of bytes, written a quarter of a megabyte at a time', async () => {
  const { stream } = openVideoBytes(VIDEO);
  expect(stream.readableObjectMode).toBe(false);
  expect(await chunksOf(stream)).toEqual([CHUNK_BYTES, CHUNK_BYTES, 7]);
});

it.each([1, CHUNK_BYTES, VIDEO.length - 1, VIDEO.length])(
  'it is resumed after %d stored bytes',
  async (offset) => {
    const { stream, ...facts } = openVideoBytes(VIDEO, { from: { offset, validator: validator ?? '' } });
    expect(facts).toMatchObject({ offset, bytes: VIDEO.length, validator });
    expect((await buffer(stream)).equals(VIDEO.subarray(offset))).toBe(true);
  },
);

it.each([
  ['of another video', { offset: 5, validator: openVideoBytes(Buffer.from('B')).validator ?? '' }],
  ['longer than the video', { offset: VIDEO.length + 1, validator: validator ?? '' }],
  ['of less than nothing', { offset: -1, validator: validator ?? '' }],
])('it begins anew when the stored part is %s', async (_what, from) => {
  const { stream, offset } = openVideoBytes(VIDEO, { from });
  expect(offset).toBe(0);
  expect((await buffer(stream)).equals(VIDEO)).toBe(true);
});

it('the same bytes have the same validator, and others have another', () => {
  expect(openVideoBytes(Buffer.from(VIDEO)).validator).toBe(validator);
  expect(openVideoBytes(VIDEO.subarray(1)).validator).not.toBe(validator);
});
