import { inspect } from 'node:util';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { makeEncryptionKey, parseKeyRing } from '../../src/encryption/key-ring';

const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

const notKey = (number: number) =>
  `has a key ${number} that is not ID:BASE64 with 32 bytes: the id must be 1 to 63 letters, digits, dots, dashes or underscores, such as 2026-11`;

test('a ring is written with commas or in lines, with comments', () => {
  for (const text of [
    `a:${KEY},b:${KEY}`,
    `# keys\na:${KEY}\r\n\n  b:${KEY}  \n`,
    ` a:${KEY.replace('=', '')} ,b:${KEY},`,
  ]) {
    const parsed = parseKeyRing(text);
    expect(parsed).toMatchObject({ ring: { writingId: 'a' } });
    expect('ring' in parsed && parsed.ring.find('b')?.export().toString('base64')).toBe(KEY);
    expect('ring' in parsed && parsed.ring.find('c')).toBeUndefined();
  }
});

test.each([
  ['', 'has no key'],
  ['# nothing', 'has no key'],
  [KEY, notKey(1)],
  [`a:${KEY},b c:${KEY}`, notKey(2)],
  [`a:${KEY.slice(4)}`, notKey(1)],
  [`a:${KEY}AAAA`, notKey(1)],
  [`a:${'é'.repeat(43)}`, notKey(1)],
  [`a:${KEY},a:${KEY}`, 'has the id a twice'],
])('the ring %j is refused without its value', (text, problem) => {
  expect(parseKeyRing(text)).toEqual({ problem });
  expect(problem).not.toContain(KEY.slice(4, 20));
});

test('a key shows nothing of itself when a ring is printed', () => {
  const parsed = parseKeyRing(`a:${KEY}`);
  expect(inspect(parsed, { depth: 9 })).not.toContain(KEY);
  expect(JSON.stringify(parsed)).not.toContain(KEY);
});

test('keys that are made are read, and no two are the same', () => {
  const [one, other] = [makeEncryptionKey('2026-11'), makeEncryptionKey('2026-11')];
  expect(one).not.toBe(other);
  expect(parseKeyRing(one)).toMatchObject({ ring: { writingId: '2026-11' } });
});

test('a setting with a mistake names the variable, the problem and the fix', () => {
  expect(() => readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: KEY })).toThrow(
    `VIDEOGEN_ENCRYPTION_KEYS ${notKey(1)}: make a key with: videogen encryption-key NAME, and put it first.`,
  );
  expect(() => readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: '/does/not/exist' })).toThrow(
    /^VIDEOGEN_ENCRYPTION_KEYS_FILE names a file that cannot be read \(ENOENT\): make a key with: /,
  );
  expect(readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: ' ' })).toBeUndefined();
});
