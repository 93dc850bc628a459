import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Secrets } from '../../src/contract/redact';
import { recordAnswers, redactBody } from '../../src/service/record-answers';
import { answer } from './service-answer';

const keys = (...all: string[]): Secrets => ({ keys: all, wholeValues: [] });

describe('a recorded body has', () => {
  it.each([
    ['of eight digits is hidden', '12345678', '{"n":99999999}'],
    ['of seven digits may be any number', '1234567', '{"n":1234567}'],
    ['of a word and digits is no number', 'sk-1234567', '{"n":1234567}'],
  ])('where a number is: a key %s', (_what, key, recorded) => {
    const body = `{"n":${key.replace('sk-', '')}}`;
    expect(redactBody(body, keys(key))).toBe(recorded);
    expect(redactBody(body, { keys: [], wholeValues: [key] })).toBe(recorded);
  });

  it.each([
    ['a list', '[1234567890]', '[9999999999]'],
    ['JSON after white space', '\n {"key":1234567890}', '\n {"key":9999999999}'],
    ['JSON after a byte order mark', '\uFEFF{"key":1234567890}', '\uFEFF{"key":9999999999}'],
    ['a number by itself', '1234567890', '…'],
  ])('no key of digits in %s', (_what, body, recorded) => {
    expect(redactBody(body, keys('1234567890'))).toBe(recorded);
  });

  it('a text as it was written', () => {
    const body = String.raw`{"note":"caf\u00e9 \/ \u0041"}`;
    expect(redactBody(body, keys('fox'))).toBe(body);
  });
});

describe('a body of very many texts', () => {
  const body = (texts: number) => JSON.stringify(Array(texts).fill(''));

  it('is recorded up to a limit', () => {
    expect(redactBody(body(50_000), keys())).toBe(body(50_000));
  });

  it('is not recorded beyond it', () => {
    expect(redactBody(body(50_001), keys())).toBe('not recorded: the answer has more than 50000 texts');
  });
});

describe('an answer is recorded', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-recordings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const WHOLE = answer('', { headers: { a: 'b' }, sent: { method: 'POST', path: '/v1/x', body: '{}' } });
  const { body: _body, ...whole } = WHOLE;
  const { sent: _sent, ...withoutSent } = whole;
  /** The recording of an answer with this body, which is too long to show. */
  const recordingOf = (body: string) => {
    recordAnswers(folder)({ ...WHOLE, body });
    const [name = ''] = readdirSync(folder);
    const { body: recorded, ...rest } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return { ...rest, length: recorded.length, isBeginning: body.startsWith(recorded) };
  };
  /** The lengths of the longest bodies. */
  const MOST_WHOLE = 1_000_000 - JSON.stringify(WHOLE, undefined, 2).length;
  const MOST_WITHOUT_SENT = 1_000_000 - JSON.stringify({ ...withoutSent, body: '' }).length;
  /** JSON that has no text to cut. */
  const blank = (length: number) => `[1${' '.repeat(length - 3)}]`;

  it.each([
    ['whole up to 1 MB', 'x'.repeat(MOST_WHOLE), { ...whole, length: MOST_WHOLE }],
    [
      'without what was sent, and with the beginning of its text, beyond that',
      'x'.repeat(MOST_WHOLE + 1),
      { ...withoutSent, length: 20_000 },
    ],
    [
      'with its whole body if that has no text to cut and the rest is small enough',
      blank(MOST_WITHOUT_SENT),
      { ...withoutSent, length: MOST_WITHOUT_SENT },
    ],
    [
      'with the beginning of its body otherwise',
      blank(MOST_WITHOUT_SENT + 1),
      { call: 'poll', status: 200, headers: {}, length: 125_000 },
    ],
  ])('%s', (_how, body, recording) => {
    expect(recordingOf(body)).toEqual({ ...recording, isBeginning: true });
  });

  it('with the beginning of each text of its JSON', () => {
    const base64 = 'A'.repeat(MOST_WHOLE);
    const cut = JSON.stringify({ task_id: 'a', base64: base64.slice(0, 20_000) });
    expect(recordingOf(JSON.stringify({ task_id: 'a', base64 })).length).toBe(cut.length);
  });

  it('or a problem with its folder is a warning of the process', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const file = join(folder, 'file');
    writeFileSync(file, '');
    recordAnswers(file)(answer({}));
    expect(warn.mock.calls).toEqual([[expect.stringContaining('cannot be recorded in')]]);
    warn.mockRestore();
  });
});
