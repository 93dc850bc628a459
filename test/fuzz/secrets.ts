import { fc } from '../support/properties';
import { signedLinks } from '../support/signed-links';

/** The API key wherever one is configured. A piece of half its length counts as the key. */
export const KEY = 'sk-7Fq+Zt/2WmX9=';
/** The signature of every signed link. */
export const SIGNATURE = 'Zx81Qm5Lk02Vt7Bn9Rw4';

/** Shorter pieces may be part of a task id, which stays exact. Any piece of this length has 8 letters and digits. */
const KEY_PIECE = 11;
const SIGNATURE_PIECE = 17;

const hex = (sign: string, digits = 2) => sign.charCodeAt(0).toString(16).padStart(digits, '0');
const each = (spell: (sign: string) => string) => (text: string) => [...text].map(spell).join('');

/** How services quote a key. */
const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => `Bearer ${text}`,
  each((sign) => `\\u${hex(sign, 4)}`),
  each((sign) => (sign === '/' ? '\\/' : sign)),
  each((sign) => `%${hex(sign)}`),
  each((sign) => `%25${hex(sign).toUpperCase()}`),
  each((sign) => `&#${sign.charCodeAt(0)};`),
  each((sign) => `&#x${hex(sign)};`),
  encodeURIComponent,
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => Buffer.from(text).toString('hex'),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`~${text}`).toString('base64'),
  (text) => Buffer.from(`Bearer ${text}`).toString('base64url'),
];

/** The key or most of it, as a service may quote it. */
export const quotedKey: fc.Arbitrary<string> = fc
  .tuple(
    fc.nat(KEY.length - KEY_PIECE),
    fc.integer({ min: KEY_PIECE, max: KEY.length }),
    fc.constantFrom(...SPELLINGS),
  )
  .map(([from, length, spell]) => spell(KEY.slice(Math.min(from, KEY.length - length)).slice(0, length)));

export const signedLink: fc.Arbitrary<string> = fc.constantFrom(...signedLinks(SIGNATURE));

/** What can be read of a secret in a text, by other means than the code under test. */
export function leaksIn(text: string): string[] {
  const all = readings(text);
  return [
    ...piecesOf(KEY, KEY_PIECE).map((piece) => ({ piece, of: 'the key' })),
    ...piecesOf(SIGNATURE, SIGNATURE_PIECE).map((piece) => ({ piece, of: 'a signature' })),
  ]
    .filter(({ piece }) => all.some((reading) => reading.includes(piece)))
    .slice(0, 1)
    .map(({ piece, of }) => `it shows ${piece} of ${of}`);
}

function piecesOf(secret: string, length: number): string[] {
  const folded = secret.toLowerCase();
  return Array.from({ length: folded.length - length + 1 }, (_, at) => folded.slice(at, at + length));
}

const codes = (base: number) => (_: string, code: string) =>
  String.fromCharCode(Number.parseInt(code, base) % 0x10000);

const DECODERS: readonly ((text: string) => string)[] = [
  (text) => text.replace(/\\u([0-9a-f]{4})/gi, codes(16)),
  (text) => text.replaceAll('\\', ''),
  (text) => text.replace(/%([0-9a-f]{2})/gi, codes(16)),
  (text) => text.replace(/&#(\d{1,7});/g, codes(10)),
  (text) => text.replace(/&#x([0-9a-f]{1,6});/gi, codes(16)),
  (text) => text.replaceAll('&amp;', '&'),
];

/** A text may mix and repeat escapes. */
const ROUNDS = 3;

function readings(text: string): string[] {
  const decoded = [text];
  for (const decode of Array.from({ length: ROUNDS }, () => DECODERS).flat()) {
    const last = decoded.at(-1) ?? '';
    const next = decode(last);
    if (next !== last) decoded.push(next);
  }
  const encoded = (text.match(/[\w+/=-]{12,400}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].flatMap((skip) => [
      Buffer.from(run.slice(skip), 'base64').toString('latin1'),
      Buffer.from(run.slice(skip), 'hex').toString('latin1'),
    ]),
  );
  return [...decoded, ...encoded].map((one) => one.toLowerCase());
}
