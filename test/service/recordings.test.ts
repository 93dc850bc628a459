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

describe('an answer is recorded', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-recordings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const SENT = { method: 'POST', path: '/v1/x', body: '{}' };
  /** The recording of an answer with this body. */
  const recordingOf = (body: string) => {
    recordAnswers(folder)(answer(body, { sent: SENT, headers: { a: 'b' } }));
    const [name = ''] = readdirSync(folder);
    const recording = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    rmSync(join(folder, name));
    return recording;
  };
  const bytesAround = (recording: object, indent?: number) =>
    Buffer.byteLength(JSON.stringify({ ...recording, body: '' }, undefined, indent));

  it('whole up to 1 MB, and beyond without what was sent and with the beginning of each text', () => {
    const most = 1_000_000 - bytesAround(recordingOf(''), 2);
    expect(recordingOf('x'.repeat(most))).toEqual({ ...recordingOf(''), body: 'x'.repeat(most) });
    const { sent: _, ...rest } = recordingOf('');
    expect(recordingOf('x'.repeat(most + 1))).toEqual({ ...rest, body: 'x'.repeat(20_000) });
    const json = JSON.stringify({ task_id: 'a', base64: 'A'.repeat(most) });
    expect(JSON.parse(recordingOf(json).body)).toEqual({ task_id: 'a', base64: 'A'.repeat(20_000) });
  });

  it('with the beginning of a body that has no long text to cut', () => {
    const { sent: _, ...rest } = recordingOf('');
    const body = (length: number) => `[1${' '.repeat(length - 3)}]`;
    const most = 1_000_000 - bytesAround(rest);
    expect(recordingOf(body(most))).toEqual({ ...rest, body: body(most) });
    expect(recordingOf(body(most + 1))).toEqual({
      call: 'poll',
      status: 200,
      headers: {},
      body: body(most).slice(0, 125_000),
    });
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
