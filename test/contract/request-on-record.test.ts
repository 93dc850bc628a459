import { requestOnRecord } from '../../src/contract/request-on-record';
import { describeBatch, describeRequest } from '../../src/contract/summaries';

const SECRET = 'a1B2c3D4e5F6g7H8i9J0';
const LINKS = [
  `https://example.com/fox.png;sig=${SECRET}`,
  `https://example.com/${SECRET}/fox.png`,
  `https://example.com/fox.png?token=${SECRET}`,
  `https://example.com/fox.png#${SECRET}`,
  `https://me:${SECRET}@example.com/fox.png`,
  `ftp://u:${SECRET}@example.com/fox.png`,
  `s3://videos/fox.png?X-Amz-Signature=${SECRET}`,
  `  HTTPS://EXAMPLE.COM/fox.png?sig=${SECRET}`,
];

it.each(LINKS)('a request on record has no secret of %s, wherever it stands', (link) => {
  const request = {
    prompt: `A fox as in ${link} and in the snow`,
    image_url: link,
    extra: { deep: [{ links: [link], note: `see (${link})` }], [link]: 1 },
  };
  const record = requestOnRecord(request);
  expect(JSON.stringify(record)).not.toContain(SECRET);
  expect(record.prompt).toMatch(/^A fox as in .* and in the snow$/);
});

it.each(LINKS)('the summary of a request or a batch has no secret of %s', (link) => {
  const request = { prompt: `As in ${link.trim()} so` };
  for (const summary of [describeRequest(request), describeBatch({ requests: [request] })]) {
    expect(summary).not.toContain(SECRET.slice(0, 8));
  }
});

it('a summary that is cut within a link is cut after its secrets are gone', () => {
  const prompt = `${'x'.repeat(50)} https://example.com/${SECRET}/fox.png`;
  expect(describeRequest({ prompt })).not.toContain(SECRET.slice(0, 6));
});

it('a long text on record is cut after its links have lost their secrets', () => {
  const { prompt } = requestOnRecord({
    prompt: `${'x '.repeat(4_985)} https://example.com/${SECRET}${SECRET}`,
  });
  expect(prompt).not.toContain(SECRET.slice(0, 6));
});

it('a link with more parts than a call has room for arguments is told all the same', () => {
  const prompt = `https://example.com/${'a.'.repeat(500_000)}`;
  expect(describeRequest({ prompt })).toMatch(/^text to video: "https:\/\/example\.com\/a\.a/);
});
