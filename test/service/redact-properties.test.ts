import { redact, type Secrets } from '../../src/contract/redact';
import { redactAnswer } from '../../src/service/record-answers';
import { fc } from '../support/properties';

const PIECE = 8;
const KEY_SIGNS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+/='];
const lettersOf = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
const key = fc
  .string({ unit: fc.constantFrom(...KEY_SIGNS), minLength: 8, maxLength: 60 })
  .filter((text) => lettersOf(text).length >= PIECE);
/** No piece of a key can consist of these. */
const words = fc.string({ unit: fc.constantFrom(...'жщю §«»'), maxLength: 40 });

const hex = (sign: string, digits = 2) => sign.charCodeAt(0).toString(16).padStart(digits, '0');
const NAMED: Record<string, string> = { '/': '&sol;', '+': '&plus;', '=': '&equals;', '.': '&period;' };

/** How one character of a key may be written. */
const SPELLINGS: ((sign: string) => string)[] = [
  (sign) => sign,
  (sign) => `\\u${hex(sign, 4)}`,
  (sign) => `\\u${hex(sign, 4).toUpperCase()}`,
  (sign) => `\\\\u${hex(sign, 4)}`,
  (sign) => (sign === '/' ? '\\/' : sign),
  (sign) => encodeURIComponent(sign),
  (sign) => `%${hex(sign)}`,
  (sign) => `%25${hex(sign).toUpperCase()}`,
  (sign) => `&#${sign.charCodeAt(0)};`,
  (sign) => `&#x${hex(sign)};`,
  (sign) => `&amp;#${sign.charCodeAt(0)};`,
  (sign) => NAMED[sign] ?? sign,
];

/** The key, or a piece of it, spelled in one way or differently for each character. */
const quoted = key.chain((whole) => {
  const start = fc.integer({ min: 0, max: whole.length - PIECE });
  const length = fc.integer({ min: PIECE, max: whole.length });
  const how = fc.oneof(
    fc.constantFrom(...SPELLINGS).map((spell) => (text: string) => [...text].map(spell).join('')),
    fc
      .infiniteStream(fc.constantFrom(...SPELLINGS))
      .map((spells) => (text: string) => [...text].map((sign) => spells.next().value(sign)).join('')),
    fc.constantFrom<(text: string) => string>(
      (text) => JSON.stringify(JSON.stringify(text)),
      (text) => encodeURIComponent(JSON.stringify({ ж: text })),
      (text) => text.toUpperCase(),
      (text) => `Bearer ${text}`,
      (text) => Buffer.from(text).toString('hex'),
    ),
    fc.tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom('base64' as const, 'base64url' as const)).map(
      ([before, encoding]) =>
        (text: string) =>
          Buffer.from('~'.repeat(before) + text).toString(encoding),
    ),
  );
  return fc.record({
    key: fc.constant(whole),
    text: fc
      .tuple(start, length)
      .map(([from, count]) => whole.slice(from, from + count))
      .filter((piece) => lettersOf(piece).length >= PIECE)
      .chain((piece) => how.map((write) => write(piece))),
  });
});

/** Everything that can be decoded from a text, by other means than the code under test. */
function readings(text: string): string[] {
  const once = (given: string) => [
    given.replace(/\\+u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    given.replace(/\\/g, ''),
    given.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    given.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    given.replace(/&#x([0-9a-f]+);/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    given.replaceAll('&amp;', '&'),
    Object.entries(NAMED).reduce((decoded, [sign, name]) => decoded.replaceAll(name, sign), given),
  ];
  // All kinds of escapes in turn, three times over: a text may mix them.
  let all = text;
  const decoded = [text];
  for (let round = 0; round < 3; round++) {
    for (let kind = 0; kind < 7; kind++) {
      all = once(all)[kind] ?? all;
      decoded.push(all);
    }
  }
  const encoded = (text.match(/[\w+/=-]{10,}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].flatMap((skip) => [
      Buffer.from(run.slice(skip), 'base64').toString('latin1'),
      Buffer.from(run.slice(skip), 'hex').toString('latin1'),
    ]),
  );
  return [...decoded, ...encoded].map(lettersOf);
}

function leakedPieces(secret: string, shown: string): string[] {
  const folded = lettersOf(secret);
  const pieces = Array.from({ length: folded.length - PIECE + 1 }, (_, at) => folded.slice(at, at + PIECE));
  const texts = readings(shown);
  return pieces.filter((piece) => texts.some((text) => text.includes(piece)));
}

const secretsFor = (secret: string): Secrets => ({ keys: [secret], wholeValues: [] });

it('no piece of a key gets through, whatever its spelling and position', () => {
  fc.assert(
    fc.property(quoted, words, words, fc.integer({ min: 20, max: 600 }), (secret, before, after, longest) => {
      const shown = redact(`${before}${secret.text}${after}`, secretsFor(secret.key), longest);
      expect(leakedPieces(secret.key, shown)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

it('no piece of a key is recorded, as a JSON value, a JSON key, a header, or outside JSON', () => {
  fc.assert(
    fc.property(quoted, words, words, (secret, before, after) => {
      const text = `${before}${secret.text}${after}`;
      for (const body of [
        JSON.stringify({ [text]: [text, JSON.stringify({ ж: text })] }),
        text,
        `{${text}`,
      ]) {
        const answer = { call: 'poll', status: 200, headers: { echo: text }, body } as const;
        const recorded = redactAnswer(answer, secretsFor(secret.key));
        expect(leakedPieces(secret.key, recorded.body)).toEqual([]);
        expect(leakedPieces(secret.key, String(recorded.headers.echo))).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});
