import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redact, type Secrets } from '../../src/contract/redact';
import { recordAnswers, redactAnswer, type ServiceAnswer, traceAnswer } from '../../src/service';
import { KEY as FUZZED_KEY, leaksIn, quotedKey } from '../fuzz/secrets';
import { fc } from '../support/properties';
import { PROVIDERS } from './provider-answers';

it('no piece of a key is shown or recorded, whatever its spelling and position', () => {
  const secrets: Secrets = { keys: [FUZZED_KEY], wholeValues: [] };
  /** No piece of a key can consist of these. */
  const words = fc.string({ unit: fc.constantFrom(...'жщю §«»'), maxLength: 40 });
  fc.assert(
    fc.property(quotedKey, words, words, fc.integer({ min: 20, max: 600 }), (key, before, after, longest) => {
      const text = `${before}${key}${after}`;
      const json = JSON.stringify({ [text]: [text, JSON.stringify({ ж: text })] });
      for (const body of [json, text, `{${text}`]) {
        const recorded = redactAnswer({ call: 'poll', status: 200, headers: { echo: text }, body }, secrets);
        expect(leaksIn(recorded.body)).toEqual([]);
        expect(leaksIn(String(recorded.headers.echo))).toEqual([]);
      }
      expect(leaksIn(redact(text, secrets, longest))).toEqual([]);
    }),
    { numRuns: 200 },
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

  it('no more of a long text than is ever read', () => {
    expect(JSON.parse(bodyOf({ a: 'x'.repeat(30_000) })).a).toHaveLength(20_000);
    expect(bodyOf('x '.repeat(100_000))).toHaveLength(150_000);
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
    const ended = (name: string) => `2020-01-01T00-00-00.000Z-${name}.json`;
    const mine = [
      '0000-notes.json',
      '2020-01-01T09-30-standup.json',
      ended('backup'),
      ended('00001-poll-200-1'),
    ];
    mine.push(`x${ended('000001-poll-200-1')}`, `${ended('000001-poll-200-1')}.bak`);
    const calls = ['submit', 'poll', 'link', 'cancel'];
    const own = Array.from({ length: 201 }, (_, at) => ended(`000${at + 100}-${calls[at % 4]}-200-17`));
    const left = `${ended('000001-poll-200-1')}.tmp`;
    for (const name of [...mine, ...own, left]) writeFileSync(join(folder, name), '');
    recordAnswers(folder)(answer({ id: 7 }));
    const [newest = '', ...others] = recordings()
      .filter((name) => !mine.includes(name))
      .reverse();
    expect(others.reverse()).toEqual(own.slice(2));
    expect(read(newest).body).toBe('{"id":7}');
    expect(recordings()).toEqual(expect.arrayContaining(mine));
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
