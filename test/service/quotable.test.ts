import { quotable, secretsOf } from '../../src/service/quotable';

const KEY = 'sk-0123456789';

describe('the words of a service, as they may be repeated,', () => {
  it('stay what they are when there is nothing to hide', () => {
    expect(quotable('Is 5 > 3? Yes.', [KEY])).toBe('Is 5 > 3? Yes.');
  });

  it('are on one line, without control characters, and not endless', () => {
    expect(quotable('\u0000a\r\n\tb\u0007c\u202e', [])).toBe('a b c');
    expect(quotable('x'.repeat(5_000), [])).toHaveLength(500);
  });

  it.each([
    ['alone', KEY, '…'],
    ['in a sentence', `Incorrect API key provided: ${KEY}.`, 'Incorrect API key provided: ….'],
    ['again and again', `${KEY}/${KEY}`, '…/…'],
    ['where the words are cut', `${'x'.repeat(495)}${KEY}`, `${'x'.repeat(495)}…`],
  ])('do not hold a secret that they quote %s', (_how, text, expected) => {
    expect(quotable(text, [KEY])).toBe(expected);
  });

  it.each([
    ['https://cdn.example.com/v.mp4?sig=abc&e=1', 'https://cdn.example.com/v.mp4?…'],
    [
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?sig=abc","x":1}',
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?…","x":1}',
    ],
    ['<a href="/v.mp4?sig=abc">', '<a href="/v.mp4?…">'],
    ['/v.mp4?a?sig=abc', '/v.mp4?a?…'],
  ])('do not hold the query of a link: %s', (text, expected) => {
    expect(quotable(text, [])).toBe(expected);
  });

  it('are not torn apart by a query too short to be secret, but always hide the key', () => {
    const secrets = secretsOf('/v.mp4?a=man', ['plan']);
    expect(quotable('a man a plan', secrets)).toBe('a man a …');
  });
});

describe('the secrets of a call', () => {
  it('are its key and every part of its query, as sent and as meant', () => {
    const secrets = secretsOf('/v.mp4?X-Amz-Signature=ab%2Fcd%3Def&token=a?bcdefgh&t=1', [KEY]);
    expect(secrets).toEqual(expect.arrayContaining([KEY, 'ab%2Fcd%3Def', 'ab/cd=ef', 'a?bcdefgh']));
  });

  it('are further headers too, unless they are as short as a version', () => {
    expect(secretsOf('/v', [KEY], ['2', 'tenant-secret'])).toEqual([KEY, 'tenant-secret']);
  });

  it('are none when there is neither', () => {
    expect(secretsOf('/v.mp4', ['']).join('')).toBe('');
  });
});
