import { isTainted, NO_SECRETS, redact, type Secrets } from '../../src/contract/redact';

let made = 0;

/** Eighteen characters, eleven of them letters and digits. */
const newKey = () => `sk~~live/???+${String(++made).padStart(5, '0')}`;
const secretsOf = (...keys: string[]): Secrets => ({ keys, wholeValues: [] });
const hide = (text: string, ...keys: string[]) => redact(text, secretsOf(...keys));

describe('a key', () => {
  it('is hidden, whole or a piece of it with eight letters and digits', () => {
    const key = newKey();
    expect(hide(`no ${key}!`, key)).toBe('no …!');
    expect(hide(`no ${key.slice(0, 15)}!`, key)).toBe('no …!');
    expect(hide(`no ${key.slice(5)}!`, key)).toBe('no …!');
    expect(hide(`no ${key.slice(6)}!`, key)).toBe(`no ${key.slice(6)}!`);
  });

  it('is hidden whatever separates its characters, and nothing around it', () => {
    const key = newKey();
    expect(hide(`no ${[...key].join(' ')}, ${key.replace(/\W/g, '')}; (${key}).`, key)).toBe('no …, …; (…).');
    expect(hide(`no ${Buffer.from(key).toString('hex').replace(/../g, '$&:')} yes`, key)).toBe('no …: yes');
  });

  it('is hidden in any case', () => {
    const key = newKey().toUpperCase();
    expect(hide(`no ${key.toLowerCase()}`, key)).toBe('no …');
  });

  it('is hidden in hexadecimal, from eight bytes on', () => {
    const key = newKey();
    const hex = Buffer.from(key).toString('hex');
    expect(hide(`no ${hex}`, key)).toBe('no …');
    expect(hide(`no ${hex.slice(-16)}`, key)).toBe('no …');
    expect(hide(`no ${hex.slice(-14)}`, key)).toBe(`no ${hex.slice(-14)}`);
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
  ])('of %d bytes is hidden in base64 after %d other bytes', (length, before, shown) => {
    const key = newKey().slice(-length);
    for (const filler of ['x', '\0']) {
      const bytes = Buffer.from(filler.repeat(before) + key);
      expect(hide(`no ${bytes.toString('base64')}`, key)).toMatch(shown);
    }
  });

  it.each([0, 1, 2])('is hidden in the base64 of URLs after %d other bytes', (before) => {
    const key = newKey();
    const encoded = Buffer.from('x'.repeat(before) + key).toString('base64url');
    expect(encoded).toMatch(/[-_]/);
    expect(hide(`no ${encoded}`, key)).toMatch(/^no .{0,3}….?$/);
  });

  it('of eight characters is hidden in hexadecimal and in base64', () => {
    const key = 'a1b2c3d4';
    const bytes = Buffer.from(key);
    expect(hide(`no ${bytes.toString('hex')}`, key)).toBe('no …');
    expect(hide(`no ${bytes.toString('base64')}`, key)).toMatch(/^no ….=$/);
  });

  it('that is short is hidden as a whole', () => {
    const key = newKey().slice(-5);
    expect(hide(`no ${key}!`, key, '')).toBe('no …!');
    expect(hide(`no ${key.slice(1)}!`, key, '')).toBe(`no ${key.slice(1)}!`);
  });

  it('with letters of other languages is hidden when a URL has escaped its bytes', () => {
    const key = `schlüssel-${newKey()}`;
    expect(hide(`no ${encodeURIComponent(key)}`, key)).toBe('no …');
    expect(hide(`no ${key}`, key)).toBe('no …');
  });

  it('is hidden to its end when one of its characters is escaped', () => {
    const key = newKey();
    expect(hide(`no ${key.replace('/', '\\/')}`, key)).toBe('no …');
  });

  it('is hidden again where an encoding of it is quoted too, and beside other keys', () => {
    const [key, other] = [newKey(), newKey().replace('live', 'test')];
    const hex = Buffer.from(key).toString('hex');
    expect(hide(`${hex}, ${key}, ${other}`, key, other)).toBe('…, …, …');
  });

  it('is hidden after the words "Bearer authentication", which are not', () => {
    const key = newKey();
    expect(hide(`Bearer authentication failed: ${key}`, key)).toBe('Bearer authentication failed: …');
  });

  it('taints a task id that has at least half of it in one piece, escaped or not', () => {
    const key = newKey();
    const secrets = secretsOf(key);
    expect(isTainted(`task-${key}`, secrets)).toBe(true);
    expect(isTainted(`task-${key.slice(0, 15)}`, secrets)).toBe(true);
    expect(isTainted(`task-${key.slice(0, 14)}`, secrets)).toBe(false);
    expect(isTainted(Buffer.from(key).toString('hex'), secrets)).toBe(true);
    expect(isTainted(`task-${encodeURIComponent(key).replaceAll('~', '%7e')}`, secrets)).toBe(true);
    expect(isTainted('task-1', secrets)).toBe(false);
  });

  it('is hidden where its escapes are separate words', () => {
    const key = newKey();
    const spelled = [...key].map((sign) => `&#${sign.charCodeAt(0)};`).join(' ');
    expect(hide(`first ${spelled} last`, key)).toBe('first … last');
  });

  it('hides a text whose escapes never end', () => {
    expect(hide(`first %${'25'.repeat(20)}41 last`, newKey())).toBe('…');
  });
});

it('of a long text only the beginning is repeated, however much may be shown', () => {
  expect(redact('x'.repeat(20_000), NO_SECRETS, 30_000)).toHaveLength(10_000);
});

it('a bearer token is hidden whatever stands before it', () => {
  expect(redact('Bearer: = up-1234567', NO_SECRETS)).toBe('Bearer: = …');
});
