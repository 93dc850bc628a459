import { requestOnRecord } from '../../activities/request-on-record';
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
