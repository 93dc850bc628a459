import type { VideoRequest } from '../../src/contract/request';
import { requestSizeProblem } from '../../src/contract/sizes';
import { signedLinks } from '../support/signed-links';
import { createMemoryWorld } from './memory-world';

const SECRET = 'a1B2c3D4e5F6g7H8i9J0';
/** As much as an entry of a record may have. */
const MIB = 1024 * 1024;

/** The request as it is on record after its submit, and the size of its entry. */
async function recorded(given: object) {
  const request: VideoRequest = { prompt: 'A fox', ...given };
  expect(requestSizeProblem(request)).toBeUndefined();
  // Nothing of a request is refused here: what is on record is what counts.
  const profile = { requestFields: ['extra', 'long', 'image'] };
  const world = createMemoryWorld(undefined, { service: { profile } });
  await world.submit({ request }).result;
  const [first = ''] = [...world.stored.keys()].filter((key) => key.startsWith('jobs/')).sort();
  return { request: world.json(first).request, bytes: world.stored.get(first)?.length ?? 0 };
}

test.each(signedLinks(SECRET))(
  'a recorded request has no secret of %s, wherever the link is',
  async (link) => {
    const { request } = await recorded({
      prompt: `A fox as in ${link} and in the snow`,
      image: link,
      extra: { deep: [{ links: [link], note: `see (${link})` }], [link]: 1 },
    });
    expect(JSON.stringify(request)).not.toContain(SECRET);
    expect(request.prompt).toMatch(/^A fox as in .* and in the snow$/);
  },
);

test('a long text is cut after its links are redacted', async () => {
  const prompt = `${'x '.repeat(4_985)} https://example.com/${SECRET}${SECRET}`;
  expect((await recorded({ prompt })).request.prompt).not.toContain(SECRET.slice(0, 6));
});

test('other values are recorded as they are, at any depth', async () => {
  const given = { prompt: 'A fox', seed: 7, extra: { deep: [{ size: 2, name: 'x' }, null], on: true } };
  expect((await recorded(given)).request).toEqual(given);
});

test('a text is cut only if it is longer than any prompt, and another value if it is longer as JSON', async () => {
  const promptOf = async (prompt: string) => (await recorded({ prompt })).request.prompt;
  expect(await promptOf('x'.repeat(10_000))).toBe('x'.repeat(10_000));
  expect(await promptOf('x'.repeat(10_001))).toBe(`${'x'.repeat(10_000)}… (10001 characters)`);
  const longOf = async (long: unknown) => (await recorded({ long })).request.long;
  expect(await longOf(['x'.repeat(9_996)])).toEqual(['x'.repeat(9_996)]);
  expect(await longOf(['x'.repeat(9_000), 'y'.repeat(9_000)])).toMatch(/^\["x+","y+… \(18007 characters\)$/);
});

test.each<[what: string, long: unknown]>([
  ['numbers', Array.from({ length: 200_000 }, (_, index) => index % 10)],
  ['texts', Array.from({ length: 140 }, () => 'x'.repeat(10_000))],
  ['objects', Array.from({ length: 50_000 }, (_, x) => ({ x, y: 1 }))],
])(
  'the largest request with a list of %s fits into a record, or it could never be sent',
  async (_what, long) => {
    expect((await recorded({ long })).bytes).toBeLessThan(MIB / 2);
  },
);

test.each([
  ['an image, only type and length', 'data:image/png;base64,AAAA', 'data:image/png,… (26 characters)'],
  ['an image, in any case', ' DATA:image/png,AAAA', 'DATA:image/png,… (20 characters)'],
  [
    'an image, a type that is not too long',
    `data:${'x'.repeat(200)},AAAA`,
    `data:${'x'.repeat(95)},… (210 characters)`,
  ],
  ['a link, origin and path', 'https://example.com/fox.png?size=2', 'https://example.com/fox.png?…'],
  ['a link, in any case', ' HTTP://example.com/fox.png?size=2', 'http://example.com/fox.png?…'],
  ['a link, no user', 'https://user:pass@example.com/fox.png#top', 'https://example.com/fox.png'],
  [
    'what only looks like one, all',
    'https: is a scheme, and a https://',
    'https: is a scheme, and a https://',
  ],
  ['what only looks like an image, all', 'see the data: it is a fox', 'see the data: it is a fox'],
])('on record there is of %s', async (_what, image, expected) => {
  expect((await recorded({ image })).request.image).toBe(expected);
});
