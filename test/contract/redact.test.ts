import { isTainted, NO_SECRETS, redact, type Secrets, secretHider } from '../../src/contract/redact';
import { redactLinks } from '../../src/contract/redact-links';
import { secretsOf } from '../../src/service';

// No piece of a key in any spelling gets through: test/service/record-answers.test.ts. Here is what stays around it.

const KEY = 'sk-live/abc+0123456789';
const secretsFor = (...keys: string[]): Secrets => ({ keys, wholeValues: [] });
const hide = (text: string, ...keys: string[]) => redact(text, secretsFor(...(keys.length ? keys : [KEY])));
const hexOf = (text: string) => Buffer.from(text).toString('hex');

it('a text without a secret stays as it is, on one line, without control characters, and bounded', () => {
  const text = 'Is 5 > 3? Yes, 100 % & more: see text/html;charset=utf-8, v1/videos or C:\\new.';
  expect(hide(text)).toBe(text);
  expect(redact('\u0000a\r\n\tb\u0007c\u202e', NO_SECRETS)).toBe('a b c');
  expect(redact('x'.repeat(5_000), NO_SECRETS)).toHaveLength(500);
  expect(redact('x'.repeat(20_000), NO_SECRETS, 30_000)).toHaveLength(10_000);
});

describe('a key', () => {
  it.each([
    ['in a sentence, again and again', `Incorrect keys: ${KEY}, ${KEY}.`, 'Incorrect keys: …, ….'],
    ['after more text than is searched', `${' '.repeat(20_000)}no ${KEY}`, 'no …'],
    ['with the colours of a terminal in it', `no ${KEY.replace('0123', '01\u001b[31m23')}`, 'no …'],
    ['as JSON in JSON does', `{"m":"${KEY.replaceAll('/', '\\\\\\/')}"}`, '{"m":"…"}'],
    ['by code points', `no \\u0073k-live\\u002Fabc\\u{2b}0123456789`, 'no …'],
    ['as a URL in a URL does', `no ${encodeURIComponent(encodeURIComponent(KEY))}`, 'no …'],
    ['as HTML in HTML does', 'no sk-live&amp;#47;abc&amp;plus;0123456789', 'no …'],
    ['in hexadecimal', `no ${hexOf(KEY)} yes`, 'no … yes'],
    ['in separated hexadecimal', `no ${hexOf(KEY).replace(/../g, '$&:')} yes`, 'no …: yes'],
    ['with an escape as its last character', 'no sk-live/abc+012345678\\9', 'no …'],
    ['in any separation', `no ${[...KEY].join(' ')}, ${KEY.replace(/\W/g, '')}; (${KEY}).`, 'no …, …; (…).'],
    [
      'in escapes that are separate words',
      `first ${[...KEY].map((sign) => `&#${sign.charCodeAt(0)};`).join(' ')} last`,
      'first … last',
    ],
    ['by its first half', `no ${KEY.slice(0, 11)}`, 'no …'],
    ['by its last half', `no ***${KEY.slice(11)}`, 'no ***+…'],
    [
      'after words that are not one',
      `Bearer authentication failed: ${KEY}`,
      'Bearer authentication failed: …',
    ],
    [
      'after escapes of no character',
      `&nosuch; &#9999999; &#x110000; \\u{110000} ${KEY}`,
      '&nosuch; &#9999999; &#x110000; \\u{110000} …',
    ],
    ['where escapes never end', `first %${'25'.repeat(20)}41 last`, '…'],
  ])('is hidden %s, and nothing around it', (_how, text, shown) => {
    expect(hide(text)).toBe(shown);
  });

  it('is hidden from eight letters and digits on, in plain text and in hexadecimal', () => {
    const [plain, hex] = ['abcd1234', hexOf('abcd1234')];
    const key = `~~~~${plain}~~~~`;
    expect(hide(`no ${plain}!`, key)).toBe('no …!');
    expect(hide(`no ${plain.slice(1)}!`, key)).toBe(`no ${plain.slice(1)}!`);
    expect(hide(`no ${hex}!`, key)).toBe('no …!');
    expect(hide(`no ${hex.slice(2)}!`, key)).toBe(`no ${hex.slice(2)}!`);
  });

  // Characters of base64 that also hold bits of other bytes stay: the key cannot be read from them.
  it.each([
    [18, 0, /^no …$/],
    [18, 1, /^no ..….==$/],
    [18, 2, /^no ...….=$/],
    [17, 0, /^no ….=$/],
    [17, 1, /^no ..…$/],
    [17, 2, /^no ...….==$/],
    [16, 0, /^no ….==$/],
    [8, 0, /^no ….=$/],
  ])('of %d bytes is hidden in base64 after %d other bytes', (length, before, shown) => {
    const key = 'sk~~live/???+00042'.slice(-length);
    for (const filler of ['x', '\0']) {
      const bytes = Buffer.from(filler.repeat(before) + key);
      expect(hide(`no ${bytes.toString('base64')}`, key)).toMatch(shown);
    }
  });

  it.each(['%', '&', '\\', 'https://', '//@', '?', ';', 'a=', KEY.slice(0, 11), '\\u002f', 'Bearer '])(
    'is hidden in a long text of %j too',
    (piece) => {
      const text = piece.repeat(Math.ceil(200_000 / piece.length));
      expect(secretHider(secretsFor(KEY))(text)).not.toContain(KEY.slice(0, 11));
    },
  );
});

it.each([
  ['upstream got Bearer up-1234567 from us', 'upstream got Bearer … from us'],
  ['Bearer abcdefghijklmnop', 'Bearer …'],
  ['Bearer abcdefghijklmno', 'Bearer abcdefghijklmno'],
  ['Bearer authentication is required', 'Bearer authentication is required'],
])('a bearer token is hidden when it has a digit or 16 letters: %s', (text, shown) => {
  expect(redact(text, NO_SECRETS)).toBe(shown);
});

it('other secrets are hidden as a whole from five letters on, but pieces of a token: a service may have cut it', () => {
  const token = 'd41d8cd98f00b204e9800998ecf8427e';
  const secrets: Secrets = { keys: [], wholeValues: ['application/json', 'beta1', 'plan', token] };
  expect(redact('application/json is no application here', secrets)).toBe('… is no application here');
  expect(redact('a\\nbeta1\\nb xbeta1y a plan', secrets)).toBe('a\\n…\\nb x…y a plan');
  expect(redact(`sig ${token.slice(0, 12)}`, secrets)).toBe('sig …');
});

describe('what gives access to a link is hidden', () => {
  it.each([
    ['https://cdn.example.com/v.mp4?sig=abc&e=1', 'https://cdn.example.com/v.mp4?…'],
    ['https://cdn.example.com/v.mp4#access_token', 'https://cdn.example.com/v.mp4#…'],
    ['https://cdn.example.com/v.mp4&sig=abc', 'https://cdn.example.com/v.mp4&…'],
    ['https://cdn.example.com/v.mp4;sig=abc', 'https://cdn.example.com/v.mp4;…'],
    ['https://cdn.example.com/hmac=abc/v.mp4', 'https://cdn.example.com/hmac=…'],
    ['https://me:secret@cdn.example.com/v.mp4', 'https://…@cdn.example.com/v.mp4'],
    ['https://me:se?cret@cdn.example.com/v.mp4', 'https://…?…'],
    ['postgres://me:secret@db/videos', 'postgres://…@db/videos'],
    ['//me:secret@cdn.example.com/v.mp4', '//…@cdn.example.com/v.mp4'],
    // What is neither a host nor a port may be a password.
    ['redis://cache:1secret/0', 'redis://…/0'],
    [
      'https://cdn.example.com/t/eyJhbGciOiJIUzI1NiJ9.eyJz.c2lnbmF0dXJl.mp4',
      'https://cdn.example.com/t/….mp4',
    ],
    [
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?sig=abc","x":1}',
      '{"url":"https:\\/\\/cdn.example.com\\/v.mp4?…","x":1}',
    ],
    ['to=https%3A%2F%2Fme%3Asecret%40cdn.example.com%2Fv.mp4%3Fsig%3Dabc', '…'],
    ['v.mp4?sig=abc', 'v.mp4?…'],
  ])('in %s', (text, shown) => {
    expect(redact(text, NO_SECRETS)).toBe(shown);
  });

  it.each([
    'abcdefgh12345678',
    'fox-abcdefgh12345678',
    'abcdefghijklmnopqrstuvwxyzabcdef',
    'aB3-cd-ef-gh-ij-kl-m',
  ])('when a name in its path looks like a token: %s', (name) => {
    expect(redactLinks(`https://cdn.example.com/v/${name}/fox.mp4`)).toBe(
      'https://cdn.example.com/v/…/fox.mp4',
    );
    expect(redactLinks(`https://cdn.example.com/${name}.mp4`)).toBe('https://cdn.example.com/….mp4');
    expect(redactLinks(`/v/${name};sig=x`)).toBe('/v/…;…');
  });

  it.each([
    ...[
      'abcdefgh1234567',
      'abcdefghijklmnopqrstuvwxyzabcde',
      'aB3-cd-ef-gh-ij-kl-',
      'a-red-fox-in-the-snow-2026-11-15',
      'A-RED-FOX-IN-THE-SNOW-2026',
      '6f1c2b9a-1111-4222-8333-444455556666',
      '1234567890123456',
      '!abcdefgh12345678',
      'abcdefgh12345678!',
    ].map((name) => `https://cdn.example.com/${name}/fox.mp4`),
    'https://abcdefgh12345678.example.com/fox.mp4',
    'http://localhost:8080/fox.mp4',
  ])('and %s stays', (link) => {
    expect(redactLinks(link)).toBe(link);
  });
});

describe('a task id', () => {
  const key = 'sk-live-4f9a8b7c6d5e4f3a2b1c';
  const bytes = Buffer.from(key);

  it.each([
    ['the key among other text', `task-${key.toUpperCase()}-1`],
    ['all but its last characters', key.slice(0, -3)],
    ['its second half', key.slice(key.length / 2)],
    ['its base64', bytes.toString('base64')],
    ['its base64url after other bytes', Buffer.from(`x:${key}`).toString('base64url')],
    ['its escapes', key.replace(/[a-f]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)],
  ])('that holds %s is tainted', (_what, id) => {
    expect(isTainted(id, secretsFor(key))).toBe(true);
  });

  it.each([
    'task-1',
    `task-${key.slice(key.length / 2 + 4)}`,
    'sk-live-task-0001',
    'task-4f9a8b7c-0000',
    '4f9a8b7c-6d5e-5000-8000-000000000000',
  ])('that shares only a small piece with the key is accepted: %s', (id) => {
    expect(isTainted(id, secretsFor(key))).toBe(false);
  });

  it('is tainted by a key of eight characters, not by one of seven or an ordinary word', () => {
    expect(isTainted('task-a1b2c3d4', secretsFor('a1b2c3d4'))).toBe(true);
    expect(isTainted('task-a1b2c3d', secretsFor('a1b2c3d'))).toBe(false);
    expect(isTainted('the-key-1', secretsFor('key', ''))).toBe(false);
  });
});

describe('the secrets of a call', () => {
  it('are its key and every part of its query, as sent and decoded', () => {
    const secrets = secretsOf('/v.mp4?X-Amz-Signature=ab%2Fcd%3Def&token=a?bcdefgh&t=1', [KEY]);
    expect(secrets.keys).toEqual([KEY]);
    expect(secrets.wholeValues).toEqual(expect.arrayContaining(['ab%2Fcd%3Def', 'ab/cd=ef', 'a?bcdefgh']));
    expect(redact('a man a plan', secretsOf('/v.mp4?a=man', ['plan']))).toBe('a man a …');
    expect(secretsOf('/v.mp4', [''])).toEqual(NO_SECRETS);
  });
});
