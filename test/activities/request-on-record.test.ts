import { requestOnRecord } from '../../activities/request-on-record';
import { requestSizeProblem } from '../../src/contract/sizes';
import { LARGEST_SMALL_FILE_BYTES, smallJson } from '../../src/storage/small-files';
import { signedLinks } from '../support/signed-links';

const SECRET = 'a1B2c3D4e5F6g7H8i9J0';

it.each(signedLinks(SECRET))('a recorded request has no secret of %s, wherever the link is', (link) => {
  const request = {
    prompt: `A fox as in ${link} and in the snow`,
    image_url: link,
    extra: { deep: [{ links: [link], note: `see (${link})` }], [link]: 1 },
  };
  const record = requestOnRecord(request);
  expect(JSON.stringify(record)).not.toContain(SECRET);
  expect(record.prompt).toMatch(/^A fox as in .* and in the snow$/);
});

it('a long text is cut after its links are redacted', () => {
  const { prompt } = requestOnRecord({
    prompt: `${'x '.repeat(4_985)} https://example.com/${SECRET}${SECRET}`,
  });
  expect(prompt).not.toContain(SECRET.slice(0, 6));
});

it('other values are recorded as they are, at any depth', () => {
  const request = { prompt: 'A fox', seed: 7, extra: { deep: [{ size: 2, name: 'x' }, null], on: true } };
  expect(requestOnRecord(request)).toEqual(request);
});

it('a value that is longer than any is cut', () => {
  const request = { prompt: 'A fox', long: ['x'.repeat(9_000), 'y'.repeat(9_000)] };
  const record = requestOnRecord(request);
  expect(record.long).toMatch(/^\["x+","y+… \(18007 characters\)$/);
});

it.each<[what: string, long: unknown]>([
  ['numbers', Array.from({ length: 200_000 }, (_, index) => index % 10)],
  ['texts', Array.from({ length: 140 }, () => 'x'.repeat(10_000))],
  ['objects', Array.from({ length: 50_000 }, (_, x) => ({ x, y: 1 }))],
])('the largest request with a list of %s fits into a record, or it could never be sent', (_what, long) => {
  const request = { prompt: 'A fox', long };
  expect(requestSizeProblem(request)).toBeUndefined();
  const entry = smallJson({ event: 'sending', request: requestOnRecord(request) });
  expect(Buffer.byteLength(entry)).toBeLessThan(LARGEST_SMALL_FILE_BYTES / 2);
});

it('a text is cut only if it is longer than any prompt', () => {
  expect(requestOnRecord({ prompt: 'x'.repeat(10_000) }).prompt).toBe('x'.repeat(10_000));
  expect(requestOnRecord({ prompt: 'x'.repeat(10_001) }).prompt).toBe(
    `${'x'.repeat(10_000)}… (10001 characters)`,
  );
  const longest = ['x'.repeat(9_996)];
  expect(requestOnRecord({ prompt: 'A fox', longest } as { prompt: string }).longest).toEqual(longest);
});

it.each([
  ['data:image/png;base64,AAAA', 'data:image/png,… (26 characters)'],
  [' DATA:image/png,AAAA', 'DATA:image/png,… (20 characters)'],
  [`data:${'x'.repeat(200)},AAAA`, `data:${'x'.repeat(95)},… (210 characters)`],
])('of an image in the request, only its type and length are recorded: %s', (image_url, recorded) => {
  expect(requestOnRecord({ prompt: 'A fox', image_url }).image_url).toBe(recorded);
});

it.each([
  ['https://example.com/fox.png?size=2', 'https://example.com/fox.png?…'],
  [' HTTP://example.com/fox.png?size=2', 'http://example.com/fox.png?…'],
  ['https://user:pass@example.com/fox.png#top', 'https://example.com/fox.png'],
])('of a link, origin and path are recorded: %s', (image_url, recorded) => {
  expect(requestOnRecord({ prompt: 'A fox', image_url }).image_url).toBe(recorded);
});

it.each(['see the data: it is a fox', 'https: is a scheme', 'a https://', 'mailto:fox@example.com'])(
  'a text that only looks like one stays: %s',
  (prompt) => {
    expect(requestOnRecord({ prompt }).prompt).toBe(prompt);
  },
);
