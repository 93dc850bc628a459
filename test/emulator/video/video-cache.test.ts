import { VideoCache } from '../../../src/testing/video/video-cache';

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

test('sixteen videos are cached, and the least recently used one goes first', async () => {
  const { made, get } = cacheOf(10);
  const names = Array.from({ length: 16 }, (_, i) => `fox ${i}`);
  for (const prompt of [...names, 'fox 0', 'owl', 'fox 0', 'fox 1']) await get(prompt);
  expect(made).toEqual([...names, 'owl', 'fox 1']);
});

test('a video that could not be made is tried again', async () => {
  const { made, get } = cacheOf(10);
  await expect(get('bad')).rejects.toThrow('no such picture');
  await expect(get('bad')).rejects.toThrow('no such picture');
  expect(made).toEqual(['bad', 'bad']);
});
