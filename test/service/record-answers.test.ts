import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redact, type Secrets } from '../../src/contract/redact';
import { recordAnswers, redactAnswer, type ServiceAnswer, traceAnswer } from '../../src/service';
import { fc } from '../support/properties';
import { PROVIDERS } from './provider-answers';

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
  (sign) => sign.toUpperCase(),
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

/** The key or a piece of it, with its characters in one or several spellings, or encoded as a whole. */
const quoted = fc
  .record({
    whole: key,
    from: fc.nat(60 - PIECE),
    count: fc.integer({ min: PIECE, max: 60 }),
    spellings: fc.subarray(SPELLINGS, { minLength: 1, maxLength: 3 }),
    dice: fc.infiniteStream(fc.nat(2)),
    encoding: fc.constantFrom(undefined, undefined, 'hex' as const, 'base64' as const, 'base64url' as const),
    before: fc.nat(3),
  })
  .map(({ whole, from, count, spellings, dice, encoding, before }) => {
    const piece = whole.slice(Math.min(from, whole.length - PIECE)).slice(0, count);
    const spell = (sign: string) => spellings[dice.next().value % spellings.length]?.(sign);
    const encoded = encoding && Buffer.from('~'.repeat(before) + piece).toString(encoding);
    return { key: whole, piece, text: encoded ?? [...piece].map(spell).join('') };
  })
  .filter(({ piece }) => lettersOf(piece).length >= PIECE);

const fromHex = (_: string, code: string) => String.fromCharCode(Number.parseInt(code, 16));

/** By other means than the code under test. */
const DECODERS: ((text: string) => string)[] = [
  (text) => text.replace(/\\+u([0-9a-f]{4})/gi, fromHex),
  (text) => text.replace(/\\/g, ''),
  (text) => text.replace(/%([0-9a-f]{2})/gi, fromHex),
  (text) => text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
  (text) => text.replace(/&#x([0-9a-f]+);/gi, fromHex),
  (text) => text.replaceAll('&amp;', '&'),
  (text) => Object.entries(NAMED).reduce((all, [sign, name]) => all.replaceAll(name, sign), text),
];

/** Everything that can be decoded from a text. */
function readings(text: string): string[] {
  const decoded = [text];
  // All kinds of escapes in turn, three times over: a text may mix them.
  for (const decode of [...DECODERS, ...DECODERS, ...DECODERS]) decoded.push(decode(decoded.at(-1) ?? ''));
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

it('no piece of a key is shown or recorded, whatever its spelling and position', () => {
  fc.assert(
    fc.property(quoted, words, words, fc.integer({ min: 20, max: 600 }), (secret, before, after, longest) => {
      const secrets: Secrets = { keys: [secret.key], wholeValues: [] };
      const text = `${before}${secret.text}${after}`;
      const asJson = JSON.stringify({ [text]: [text, JSON.stringify({ ж: text })] });
      const recorded = [asJson, text, `{${text}`].map((body) =>
        redactAnswer({ call: 'poll', status: 200, headers: { echo: text }, body }, secrets),
      );
      const shown = [
        redact(text, secrets, longest),
        String(recorded[0]?.headers.echo),
        ...recorded.map(({ body }) => body),
      ];
      for (const one of shown) expect(leakedPieces(secret.key, one)).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

const KEY = 'sk-live/abc+123456';
const SECRETS = { keys: [KEY], wholeValues: [] };

/** An answer to a poll, with a body that is a text or written as JSON. */
const answer = (body: unknown, rest: Partial<ServiceAnswer> = {}): ServiceAnswer => ({
  call: 'poll',
  status: 200,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...rest,
});
const bodyOf = (body: unknown, secrets: Secrets = SECRETS) => redactAnswer(answer(body), secrets).body;

describe('a recording contains', () => {
  it('what was sent, without the key and the signatures of links', () => {
    const image = `https://gateway.example/i.png?signature=${'s'.repeat(30)}`;
    const sent = { method: 'POST', path: `/v1/x?token=${KEY}`, body: JSON.stringify({ image, note: KEY }) };
    const recorded = redactAnswer(answer({}, { call: 'submit', sent }), { keys: [KEY], wholeValues: [KEY] });
    expect(recorded.sent).toMatchObject({ method: 'POST' });
    expect(JSON.parse(recorded.sent?.body ?? '')).toEqual({
      image: 'https://gateway.example/i.png?…',
      note: '…',
    });
    expect(JSON.stringify(recorded)).not.toContain(KEY);
  });

  it.each(PROVIDERS)('all that $name answers, except for the queries of its links', ({ answers }) => {
    for (const { status, body } of answers) {
      const signed = body.replaceAll('.mp4', `.mp4?sign=${'s'.repeat(30)}&Expires=17`);
      const expected = JSON.stringify(traceAnswer({ status, body: signed }));
      expect(JSON.stringify(traceAnswer({ status, body: bodyOf(signed) }))).toBe(
        expected.replaceAll(/\?sign=s+&Expires=17/g, '?…'),
      );
      expect(bodyOf(signed)).not.toContain('sss');
      // Without a secret in it, and without an id in a link that could be one, not a byte is changed.
      const plain = body.replaceAll(/[0-9a-f]{26,32}/g, 'id-1');
      expect(bodyOf(plain)).toBe(plain);
    }
  });

  it('no header that may have a secret, and no secret in the others', () => {
    const headers = {
      'content-type': 'application/json',
      'set-cookie': ['a=b'],
      cookie: 'a=b',
      authorization: `Bearer ${KEY}`,
      'x-api-key': KEY,
      location: 'https://x.example/1?sig=abc',
      echo: [`was ${KEY}`],
      'retry-after': '2',
    };
    expect(redactAnswer(answer({}, { headers }), SECRETS).headers).toEqual({
      'content-type': 'application/json',
      location: 'https://x.example/1?…',
      echo: ['was …'],
      'retry-after': '2',
    });
  });
});

describe('answers are recorded in files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-answers-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const recordings = (at = folder) => readdirSync(at).sort();
  const read = (name: string | undefined) => JSON.parse(readFileSync(join(folder, name ?? ''), 'utf8'));

  it('one each, named after time, call and status, readable only for their owner', () => {
    const inner = join(folder, 'a', 'b');
    recordAnswers(inner)(answer({ task_id: 'a' }, { call: 'submit', status: 201, headers: { a: 'b' } }));
    const [name = '', ...others] = recordings(inner);
    expect(others).toEqual([]);
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-000001-submit-201-\d+\.json$/);
    expect(JSON.parse(readFileSync(join(inner, name), 'utf8'))).toEqual({
      call: 'submit',
      status: 201,
      headers: { a: 'b' },
      body: '{"task_id":"a"}',
    });
    expect(statSync(join(inner, name)).mode & 0o077).toBe(0);
  });

  it('up to a limit: the oldest are removed, and files of the user are not', () => {
    const mine = ['0000-notes.json', '2020-01-01T09-30-standup.json', '2020-01-01T00-00-00.000Z-backup.json'];
    for (const name of mine) writeFileSync(join(folder, name), 'mine');
    writeFileSync(join(folder, '2020-01-01T00-00-00.000Z-000001-poll-200-1.json.tmp'), 'left by a crash');
    const record = recordAnswers(folder);
    for (let id = 1; id <= 202; id++) record(answer({ id }));
    expect(recordings()).toEqual(expect.arrayContaining(mine));
    const own = recordings().filter((name) => !mine.includes(name));
    expect(own).toHaveLength(200);
    expect(read(own.at(-1)).body).toMatch(/"id":202/);
  });

  it('and a folder that cannot be written is reported once, without an error', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const problems: string[] = [];
    const record = recordAnswers(file, (message) => problems.push(message));
    for (let time = 0; time < 3; time++) record(answer({}));
    expect(problems).toEqual([
      expect.stringMatching(
        /^The service's answers cannot be recorded in .* \(EEXIST\)\. Jobs continue without recordings\.$/,
      ),
    ]);
  });
});
