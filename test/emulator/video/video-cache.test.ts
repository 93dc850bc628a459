import { VideoCache } from '../../../src/testing/video/video-cache';

const MEBIBYTE = 1024 * 1024;

function cacheOf(bytes: number) {
  const made: string[] = [];
  const cache = new VideoCache(async ({ prompt }) => {
    made.push(prompt);
    if (prompt === 'bad') throw new Error('no such picture');
    return Buffer.alloc(bytes, prompt);
  });
  return { made, get: (prompt: string) => cache.get({ prompt }) };
}

test('a video is made once for all callers, at once or later', async () => {
  const { made, get } = cacheOf(10);
  const [first, second] = await Promise.all([get('a'), get('a')]);
  expect([second, await get('a')]).toEqual([first, first]);
  await get('b');
  expect(made).toEqual(['a', 'b']);
});

test('the ETag of a video follows from its content', async () => {
  const one = await cacheOf(10).get('a');
  expect(one.etag).toMatch(/^"[0-9a-f]{64}"$/);
  expect((await cacheOf(10).get('a')).etag).toBe(one.etag);
  expect((await cacheOf(10).get('b')).etag).not.toBe(one.etag);
});

test('the least recently used video is evicted first, and the latest stays even if it is too large', async () => {
  const { made, get } = cacheOf(30 * MEBIBYTE);
  for (const prompt of ['a', 'b', 'a', 'c', 'a', 'b']) await get(prompt);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
  const large = cacheOf(65 * MEBIBYTE);
  for (const prompt of ['a', 'a', 'b', 'b', 'a']) await large.get(prompt);
  expect(large.made).toEqual(['a', 'b', 'a']);
});

test('a video that could not be made is tried again', async () => {
  const { made, get } = cacheOf(10);
  await expect(get('bad')).rejects.toThrow('no such picture');
  await expect(get('bad')).rejects.toThrow('no such picture');
  expect(made).toEqual(['bad', 'bad']);
});
