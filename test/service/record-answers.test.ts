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
