import { execFileSync } from 'node:child_process';
import {
  cleanText,
  codeMarkdown,
  hasControls,
  inShell,
  plainMarkdown,
  printable,
  printableJson,
  shown,
} from '../../src/contract/clean-text';
import { isTainted, NO_SECRETS, redact, type Secrets, secretHider } from '../../src/contract/redact';
import { redactLinks } from '../../src/contract/redact-links';
import { secretsOf } from '../../src/service';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

describe('text of others', () => {
  it.each([
    ['plain words', 'plain words'],
    ['\u001b[31mred\u001b[0m \u001b[1;4Hmoved', 'red moved'],
    ['\u001b]0;title\u0007named \u001b]8;;https://x\u001b\\linked', 'named linked'],
    ['nul\u0000byte', 'nul byte'],
    ['next\u0085line\u2028and\u2029paragraph', 'next line and paragraph'],
    ['turned \u202Earound\u202C \uFEFFmarked', 'turned around marked'],
    ['\n\u001b[2J', ''],
  ])('is cleaned: %j is %j', (text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it('is cut with an ellipsis, and never inside a character', () => {
    expect(cleanText('x'.repeat(500))).toBe('x'.repeat(500));
    expect(cleanText('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    expect(cleanText('ab🦊🦊', 4)).toBe('ab…');
    expect(cleanText('a🦊🦊', 4)).toBe('a🦊…');
  });

  it('has no control characters but line ends on a terminal, and as a name not even those', () => {
    expect(printable('a\u001b[31mb\r\n\tc\u202e\u009bd\n')).toBe('ab \n c  d\n');
    expect(shown('fox\nDone. Now type: rm -rf x')).toBe('fox Done. Now type: rm -rf x');
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(printable(text)).not.toMatch(STEERING);
        expect(shown(text)).not.toMatch(STEERING);
        expect(shown(text)).not.toContain('\n');
      }),
    );
  });

  it('is escaped in JSON on a terminal, which parses to the exact value', () => {
    expect(printableJson({ a: 'x\u001b\u009b\u202e\u{e0001}\ny', b: 'ü' })).toBe(
      '{"a":"x\\u001b\\u009b\\u202e\\udb40\\udc01\\ny","b":"ü"}',
    );
    fc.assert(
      fc.property(fc.oneof(hostileText, fc.string({ unit: 'binary' })), (text) => {
        const json = printableJson({ [text]: [text] });
        expect(json).not.toMatch(STEERING);
        expect(json).not.toContain('\n');
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ [text]: [text] })));
      }),
    );
  });

  it.each<[as: string, write: (text: string) => string, text: string, written: string]>([
    ['inline code', codeMarkdown, 'task_1', '`task_1`'],
    ['inline code', codeMarkdown, 'a`b', '``a`b``'],
    ['inline code', codeMarkdown, '`a` ![x](y)', '`` `a` ![x](y) ``'],
    ['inline code', codeMarkdown, '', '`  `'],
    ['inline code', codeMarkdown, ' a b ', '`  a b  `'],
    ['inline code', codeMarkdown, 'a\n# b\u001b[2J\u202e', '`a # b `'],
    [
      'plain markdown',
      plainMarkdown,
      '<img src=x> [a](b) `c` ![d](e)',
      '\\<img src=x\\> \\[a\\](b) \\`c\\` \\!\\[d\\](e)',
    ],
    ['plain markdown', plainMarkdown, 'a\n# b\u009b', 'a \\# b '],
    ['an argument of a shell', inShell, './foxes/red.jsonl', './foxes/red.jsonl'],
    ['an argument of a shell', inShell, '', "''"],
    ['an argument of a shell', inShell, "fox's", "'fox'\\''s'"],
    ['an argument of a shell', inShell, '=ls', "'=ls'"],
    ['an argument of a shell', inShell, 'a\nb\0c\u001b[2J\u202e!', "'a b c !'"],
  ])('as %s, %s', (_as, write, text, written) => {
    expect(write(text)).toBe(written);
  });

  it.each(['sh', 'bash'])('is read unchanged by %s, if it has no control characters', (shell) => {
    const given = fc.sample(
      hostileText.filter((text) => !hasControls(text)),
      { numRuns: 1_000, seed: 10 },
    );
    const typed = given.map(inShell);
    const read = execFileSync(shell, ['-c', `printf '%s\\0' ${typed.join(' ')}`], { encoding: 'utf8' });
    expect(read.split('\0').slice(0, -1)).toEqual(given);
  });
});

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
    [17, 1, /^no ..…$/],
    [8, 0, /^no ….=$/],
  ])('of %d bytes is hidden in base64 after %d other bytes', (length, before, shown) => {
    const key = 'sk~~live/???+00042'.slice(-length);
    for (const filler of ['x', '\0']) {
      const bytes = Buffer.from(filler.repeat(before) + key);
      expect(hide(`no ${bytes.toString('base64')}`, key)).toMatch(shown);
    }
  });

  it('is hidden in a long text of anything', () => {
    for (const piece of [
      '%',
      '&',
      '\\',
      'https://',
      '//@',
      '?',
      'a=',
      KEY.slice(0, 11),
      '\\u002f',
      'Bearer ',
    ]) {
      const text = piece.repeat(Math.ceil(200_000 / piece.length));
      expect(secretHider(secretsFor(KEY))(text)).not.toContain(KEY.slice(0, 11));
    }
  });
});

it('a bearer token is hidden when it has a digit or 16 letters', () => {
  expect(redact('upstream got Bearer up-1234567 from us', NO_SECRETS)).toBe('upstream got Bearer … from us');
  expect(redact('Bearer abcdefghijklmnop', NO_SECRETS)).toBe('Bearer …');
  for (const words of ['Bearer abcdefghijklmno', 'Bearer authentication is required'])
    expect(redact(words, NO_SECRETS)).toBe(words);
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

  it('when a name in its path looks like a token', () => {
    const run = 'abcdefghijklmnopqrstuvwxyzabcdef';
    for (const name of ['abcdefgh12345678', 'fox-abcdefgh12345678', run, 'aB3-cd-ef-gh-ij-kl-m']) {
      expect(redactLinks(`https://cdn.example.com/v/${name}/fox.mp4`)).toBe(
        'https://cdn.example.com/v/…/fox.mp4',
      );
      expect(redactLinks(`https://cdn.example.com/${name}.mp4`)).toBe('https://cdn.example.com/….mp4');
      expect(redactLinks(`/v/${name};sig=x`)).toBe('/v/…;…');
    }
  });

  it('and nothing else', () => {
    const names = [
      ...['abcdefgh1234567', 'abcdefghijklmnopqrstuvwxyzabcde', 'aB3-cd-ef-gh-ij-kl-'],
      ...['a-red-fox-in-the-snow-2026-11-15', 'A-RED-FOX-IN-THE-SNOW-2026', '1234567890123456'],
      ...['6f1c2b9a-1111-4222-8333-444455556666', '!abcdefgh12345678', 'abcdefgh12345678!'],
    ];
    for (const link of [
      ...names.map((name) => `https://cdn.example.com/${name}/fox.mp4`),
      'https://abcdefgh12345678.example.com/fox.mp4',
      'http://localhost:8080/fox.mp4',
    ])
      expect(redactLinks(link)).toBe(link);
  });
});

it('a task id is tainted by half of a key in any encoding, and not by a small piece of one', () => {
  const key = 'sk-live-4f9a8b7c6d5e4f3a2b1c';
  const bytes = Buffer.from(key);
  for (const id of [
    `task-${key.toUpperCase()}-1`,
    key.slice(0, -3),
    key.slice(key.length / 2),
    bytes.toString('base64'),
    Buffer.from(`x:${key}`).toString('base64url'),
    key.replace(/[a-f]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  ])
    expect([id, isTainted(id, secretsFor(key))]).toEqual([id, true]);
  for (const id of [
    `task-${key.slice(key.length / 2 + 4)}`,
    'sk-live-task-0001',
    'task-4f9a8b7c-0000',
    '4f9a8b7c-6d5e-5000-8000-000000000000',
  ])
    expect([id, isTainted(id, secretsFor(key))]).toEqual([id, false]);
  expect(isTainted('task-a1b2c3d4', secretsFor('a1b2c3d4'))).toBe(true);
  expect(isTainted('task-a1b2c3d', secretsFor('a1b2c3d'))).toBe(false);
  expect(isTainted('the-key-1', secretsFor('key', ''))).toBe(false);
});

it('the secrets of a call are its key and every part of its query, as sent and decoded', () => {
  const secrets = secretsOf('/v.mp4?X-Amz-Signature=ab%2Fcd%3Def&token=a?bcdefgh&t=1', [KEY]);
  expect(secrets.keys).toEqual([KEY]);
  expect(secrets.wholeValues).toEqual(expect.arrayContaining(['ab%2Fcd%3Def', 'ab/cd=ef', 'a?bcdefgh']));
  expect(redact('a man a plan', secretsOf('/v.mp4?a=man', ['plan']))).toBe('a man a …');
  expect(secretsOf('/v.mp4', [''])).toEqual(NO_SECRETS);
});
