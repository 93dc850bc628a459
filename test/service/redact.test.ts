import { NO_SECRETS, redact, type Secrets, secretHider } from '../../src/contract/redact';
import { secretsOf, secretsOfLink } from '../../src/service/secrets-of-call';

const KEY = 'sk-live/abc+0123456789';
const OWN: Secrets = { keys: [KEY], wholeValues: [] };

describe('a redacted text of a service', () => {
  it('stays the same when it has no secret', () => {
    const text = 'Is 5 > 3? Yes, 100 % & more: see text/html;charset=utf-8, v1/videos or C:\\new.';
    expect(redact(text, OWN)).toBe(text);
  });

  it('is one line, without control characters, and of a bounded length', () => {
    expect(redact('\u0000a\r\n\tb\u0007c\u202e', NO_SECRETS)).toBe('a b c');
    expect(redact('x'.repeat(5_000), NO_SECRETS)).toHaveLength(500);
  });

  it.each([
    ['alone', KEY, '…'],
    ['in a sentence', `Incorrect API key provided: ${KEY}.`, 'Incorrect API key provided: ….'],
    ['again and again', `${KEY}, ${KEY}`, '…, …'],
    ['where the text is cut', `${'x'.repeat(495)}${KEY}`, `${'x'.repeat(495)}…`],
    ['after more text than is searched', `${' '.repeat(20_000)}no ${KEY}`, 'no …'],
    ['with the colours of a terminal in it', `no ${KEY.replace('0123', '01\u001b[31m23')}`, 'no …'],
    ['as JSON does', `{"m":"${KEY.replaceAll('/', '\\/')}"}`, '{"m":"…"}'],
    ['as JSON in JSON does', `{"m":"${KEY.replaceAll('/', '\\\\\\/')}"}`, '{"m":"…"}'],
    ['by code points', `no \\u0073k-live\\u002Fabc\\u{2b}0123456789`, 'no …'],
    ['as a URL does', `no ${encodeURIComponent(KEY)}`, 'no …'],
    ['as a URL in a URL does', `no ${encodeURIComponent(encodeURIComponent(KEY))}`, 'no …'],
    ['in small letters', `no ${encodeURIComponent(KEY).toLowerCase()}`, 'no …'],
    ['as HTML does', 'no sk-live&#47;abc&#x2B;0123456789', 'no …'],
    ['as HTML does, by name', 'no sk-live&sol;abc&plus;0123456789', 'no …'],
    ['as HTML in HTML does', 'no sk-live&amp;#47;abc&amp;plus;0123456789', 'no …'],
    ['in base64', `no ${Buffer.from(KEY).toString('base64')}`, /^no …[=\w]?=*$/],
    [
      'in base64 with a name before it',
      `no ${Buffer.from(`me:${KEY}`).toString('base64')}`,
      /^no \w{0,4}…[=\w]*$/,
    ],
    ['in hexadecimal', `no ${Buffer.from(KEY).toString('hex')}`, 'no …'],
    ['in capitals', `no ${KEY.toUpperCase()}`, 'no …'],
    ['at the end, with one escape', 'no sk-live\\/abc+0123456789', 'no …'],
    ['with an escape as its last character', 'no sk-live/abc+012345678\\9', 'no …'],
    ['by its first half', `no ${KEY.slice(0, 11)}`, 'no …'],
    ['by its last half', `no ***${KEY.slice(11)}`, 'no ***+…'],
    ['after "Bearer"', `invalid header Bearer ${KEY}`, 'invalid header Bearer …'],
  ])('hides the key %s', (_how, text, expected) => {
    expect(redact(text, OWN)).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });

  it('hides any other bearer token too', () => {
    expect(redact('upstream got Bearer up-1234567 from us', NO_SECRETS)).toBe(
      'upstream got Bearer … from us',
    );
    expect(redact('Bearer authentication is required', NO_SECRETS)).toBe('Bearer authentication is required');
  });

  it('hides what follows "Bearer" when it has a digit or 16 letters, whatever stands between', () => {
    expect(redact('Bearer: = up-1234567', NO_SECRETS)).toBe('Bearer: = …');
    expect(redact('Bearer abcdefghijklmnop', NO_SECRETS)).toBe('Bearer …');
    expect(redact('Bearer abcdefghijklmno', NO_SECRETS)).toBe('Bearer abcdefghijklmno');
  });

  it.each(['&nosuch;', '&#9999999;', '&#x110000;', '\\u{110000}'])(
    'may have an escape of no character: %s',
    (text) => {
      expect(redact(`a ${text} ${KEY}`, OWN)).toBe(`a ${text} …`);
    },
  );

  it('hides other values from five letters on, and nothing around them', () => {
    const hide = (text: string, value: string) => redact(text, { keys: [], wholeValues: [value] });
    expect(hide('it is a\\nbeta1\\nb', 'beta1')).toBe('it is a\\n…\\nb');
    expect(hide('xbeta1y', 'beta1')).toBe('x…y');
    expect(hide('a beta', 'beta')).toBe('a beta');
  });

  it('hides a key of eight characters in any encoding', () => {
    const bytes = Buffer.from('a1b2c3d4');
    const secrets = { keys: ['a1b2c3d4'], wholeValues: [] };
    expect(redact(`no ${bytes.toString('hex')}`, secrets)).toBe('no …');
    expect(redact(`no ${bytes.toString('base64')}`, secrets)).toMatch(/^no ….?=*$/);
  });

  it.each([
    ['https://cdn.example.com/v.mp4?sig=abc&e=1', 'https://cdn.example.com/v.mp4?…'],
    ['https://cdn.example.com/v.mp4?TOKEN', 'https://cdn.example.com/v.mp4?…'],
    ['https://cdn.example.com/v.mp4#access_token', 'https://cdn.example.com/v.mp4#…'],
    ['https://cdn.example.com/v.mp4&sig=abc', 'https://cdn.example.com/v.mp4&…'],
    ['https://cdn.example.com/v.mp4;sig=abc', 'https://cdn.example.com/v.mp4;…'],
    ['https://cdn.example.com/a;jsessionid=1/v.mp4', 'https://cdn.example.com/a;…'],
    ['https://cdn.example.com/hmac=abc/v.mp4', 'https://cdn.example.com/hmac=…'],
    ['https://me:secret@cdn.example.com/v.mp4', 'https://…@cdn.example.com/v.mp4'],
    ['https://me:s@cret@cdn.example.com/v.mp4', 'https://…@cdn.example.com/v.mp4'],
    ['https://me:se?cret@cdn.example.com/v.mp4', 'https://…?…'],
    ['postgres://me:secret@db/videos', 'postgres://…@db/videos'],
    ['//me:secret@cdn.example.com/v.mp4', '//…@cdn.example.com/v.mp4'],
    ['http://127.0.0.1:8080/v.mp4', 'http://127.0.0.1:8080/v.mp4'],
    ['http://[::1]:8080/v.mp4', 'http://[::1]:8080/v.mp4'],
    ['https://cdn.example.com/d41d8cd98f00b204e9800998ecf8427e/v.mp4', 'https://cdn.example.com/…/v.mp4'],
    [
      'https://cdn.example.com/t/eyJhbGciOiJIUzI1NiJ9.eyJz.c2lnbmF0dXJl.mp4',
      'https://cdn.example.com/t/….mp4',
    ],
    ['/files/aB3dE5gH7jK9mN1pQ3sT5/v.mp4', '/files/…/v.mp4'],
    // Names that are not secrets stay readable.
    [
      'https://cdn.example.com/a-red-fox-in-the-snow-2026-11-15.mp4',
      'https://cdn.example.com/a-red-fox-in-the-snow-2026-11-15.mp4',
    ],
    [
      'https://api.example.com/tasks/6f1c2b9a-1111-4222-8333-444455556666',
      'https://api.example.com/tasks/6f1c2b9a-1111-4222-8333-444455556666',
    ],
    [
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?sig=abc","x":1}',
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?…","x":1}',
    ],
    ['{"url":"https:\\/\\/me:secret@cdn.example.com\\/v.mp4;s=1"}', '{"url":"…"}'],
    ['to=https%3A%2F%2Fme%3Asecret%40cdn.example.com%2Fv.mp4%3Fsig%3Dabc', '…'],
    ['<a href="/v.mp4?sig=abc">', '<a href="/v.mp4?…">'],
    ['/v.mp4?a?sig=abc', '/v.mp4?…'],
    ['v.mp4?sig=abc', 'v.mp4?…'],
    ['Did you mean https://example.com/a?', 'Did you mean https://example.com/a?'],
  ])('hides what gives access to a link: %s', (text, expected) => {
    expect(redact(text, NO_SECRETS)).toBe(expected);
  });

  it('keeps words that equal a short query, but always hides the key', () => {
    const secrets = secretsOf('/v.mp4?a=man', ['plan']);
    expect(redact('a man a plan', secrets)).toBe('a man a …');
  });

  it('hides other secrets only as a whole, but pieces of a token: a service may have cut it', () => {
    const token = 'd41d8cd98f00b204e9800998ecf8427e';
    const secrets: Secrets = { keys: [], wholeValues: ['application/json', token] };
    expect(redact('application/json is no application here', secrets)).toBe('… is no application here');
    expect(redact(`sig ${token.slice(0, 12)}`, secrets)).toBe('sig …');
  });

  it('hides the key in long texts too', () => {
    const pieces = [
      '%',
      '&',
      '\\',
      'https://',
      '//@',
      '?',
      ';',
      'a=',
      KEY.slice(0, 11),
      '\\u002f',
      'Bearer ',
    ];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(200_000 / piece.length));
      expect(secretHider(OWN)(text).includes(KEY.slice(0, 11))).toBe(false);
    }
  });
});

describe('the secrets of a call', () => {
  it('are its key and every part of its query, as sent and decoded', () => {
    const secrets = secretsOf('/v.mp4?X-Amz-Signature=ab%2Fcd%3Def&token=a?bcdefgh&t=1', [KEY]);
    expect(secrets.keys).toEqual([KEY]);
    expect(secrets.wholeValues).toEqual(expect.arrayContaining(['ab%2Fcd%3Def', 'ab/cd=ef', 'a?bcdefgh']));
  });

  it('are the headers of a profile too, as keys when their name says so', () => {
    const headers = { 'X-Version': '2026-11-15', 'X-Tenant-Secret': 'of-the-tenant', 'X-Key-Id': '2' };
    expect(secretsOf('/v', [KEY], { headers })).toEqual({
      keys: [KEY, 'of-the-tenant'],
      wholeValues: ['2026-11-15', '2'],
    });
  });

  it('are the tokens in the path of a link too', () => {
    const { wholeValues } = secretsOfLink('/files/d41d8cd98f00b204e9800998ecf8427e.mp4', NO_SECRETS);
    expect(wholeValues).toContain('d41d8cd98f00b204e9800998ecf8427e');
  });

  it('are empty without a key and a query', () => {
    expect(secretsOf('/v.mp4', [''])).toEqual(NO_SECRETS);
  });
});
