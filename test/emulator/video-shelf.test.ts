import { VideoShelf } from '../../src/emulator/video-shelf';

const MEBIBYTE = 1024 * 1024;

function shelfOf(bytes: number) {
  const made: string[] = [];
  const shelf = new VideoShelf(async ({ prompt }) => {
    made.push(prompt);
    if (prompt === 'bad') throw new Error('no such picture');
    return Buffer.alloc(bytes, prompt);
  });
  return { made, ask: (prompt: string) => shelf.get({ prompt }) };
}

test('a video is made once, however many ask for it at once or later', async () => {
  const { made, ask } = shelfOf(10);
  const [first, second] = await Promise.all([ask('a'), ask('a')]);
  expect([second, await ask('a')]).toEqual([first, first]);
  await ask('b');
  expect(made).toEqual(['a', 'b']);
});

test('the tag of a video follows from its content', async () => {
  const one = await shelfOf(10).ask('a');
  expect(one.etag).toMatch(/^"[0-9a-f]{64}"$/);
  expect((await shelfOf(10).ask('a')).etag).toBe(one.etag);
  expect((await shelfOf(10).ask('b')).etag).not.toBe(one.etag);
});

test('the video that was not asked for the longest goes first, and the latest stays even if it is too large', async () => {
  const { made, ask } = shelfOf(30 * MEBIBYTE);
  for (const prompt of ['a', 'b', 'a', 'c', 'a', 'b']) await ask(prompt);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
  const large = shelfOf(65 * MEBIBYTE);
  for (const prompt of ['a', 'a', 'b', 'b', 'a']) await large.ask(prompt);
  expect(large.made).toEqual(['a', 'b', 'a']);
});

test('a video that could not be made is tried again', async () => {
  const { made, ask } = shelfOf(10);
  await expect(ask('bad')).rejects.toThrow('no such picture');
  await expect(ask('bad')).rejects.toThrow('no such picture');
  expect(made).toEqual(['bad', 'bad']);
});
