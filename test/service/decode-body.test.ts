import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { decodeBody, decodeBytes, encodingOf, textOf } from '../../src/service/decode-body';
import { justLoaded } from '../support/just-loaded';

const TEXT = 'A red fox runs through snow.';
const ENCODED: [encoding: string, encoded: Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
];

describe('a whole body', () => {
  it.each(ENCODED)('in the encoding %s is decoded', async (encoding, encoded) => {
    expect(await decodeBytes(encoded, encoding, 1_000)).toEqual({
      ok: true,
      bytes: Buffer.from(TEXT),
    });
  });

  it('in an unknown encoding is returned as it is', async () => {
    const bytes = Buffer.from(TEXT);
    expect(await decodeBytes(bytes, 'utf-8', 1_000)).toEqual({ ok: true, bytes });
  });

  it.each(['{"task_id":"a"}', '\n  [1]'])(
    'that a proxy has decoded already is returned as it is: %j',
    async (json) => {
      const bytes = Buffer.from(json);
      expect(await decodeBytes(bytes, 'gzip', 1_000)).toEqual({ ok: true, bytes });
    },
  );

  it.each(['a page with {braces}', 'page{}', ' x [1]'])(
    'that is neither in its encoding nor JSON cannot be decoded: %j',
    async (text) => {
      expect(await decodeBytes(Buffer.from(text), 'gzip', 1_000)).toEqual({
        ok: false,
        why: 'undecodable',
      });
    },
  );

  it('that is longer than allowed once it is decoded is too large', async () => {
    expect(await decodeBytes(gzipSync(TEXT), 'gzip', TEXT.length - 1)).toEqual({
      ok: false,
      why: 'too-large',
    });
  });
});

describe('a body that is read as it comes', () => {
  it.each(ENCODED)('in the encoding %s is decoded', async (encoding, encoded) => {
    const decoded = decodeBody(Readable.from([encoded]), encoding);
    expect(decoded && (await buffer(decoded)).toString()).toBe(TEXT);
  });

  it('in an unknown encoding is not decoded', () => {
    expect(decodeBody(Readable.from([]), 'zstd')).toBeUndefined();
  });
});

it.each([
  ['gzip', 'gzip'],
  [' GZip ', 'gzip'],
  ['identity', undefined],
  [' Identity', undefined],
  ['', undefined],
  [undefined, undefined],
])('the header content-encoding %j means the encoding %s', (header, encoding) => {
  expect(encodingOf({ 'content-encoding': header })).toBe(encoding);
});

describe('the text of a body', () => {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le');

  it.each<[what: string, bytes: Buffer, contentType: string | undefined]>([
    ['UTF-8', Buffer.from(TEXT), undefined],
    ['UTF-8, whatever charset is named', Buffer.from(TEXT), 'text/html; charset=latin1'],
    ['UTF-16LE by its first bytes', utf16(`\ufeff${TEXT}`), undefined],
    ['UTF-16BE by its first bytes', utf16(`\ufeff${TEXT}`).swap16(), undefined],
    [
      'UTF-16BE by its first bytes, under another charset',
      utf16(`\ufeff${TEXT}`).swap16(),
      'a/b;charset=utf-16le',
    ],
    ['UTF-16 by its charset', utf16(TEXT), 'application/json; charset=utf-16'],
    ['UTF-16LE by its charset', utf16(TEXT), 'application/json; charset="UTF-16LE"'],
    ['UTF-16BE by its charset', utf16(TEXT).swap16(), 'application/json; charset=utf-16be'],
  ])('is read as %s', (_what, bytes, contentType) => {
    expect(textOf(bytes, contentType)).toBe(TEXT);
  });
});

it('a process knows every encoding and byte order from its first body on', async () => {
  const loaded = justLoaded((): typeof import('../../src/service/decode-body') =>
    require('../../src/service/decode-body'),
  );
  for (const [encoding, encoded] of ENCODED) {
    expect(await loaded.decodeBytes(encoded, encoding, 1_000)).toEqual({
      ok: true,
      bytes: Buffer.from(TEXT),
    });
    const decoded = loaded.decodeBody(Readable.from([encoded]), encoding);
    expect(decoded && (await buffer(decoded)).toString()).toBe(TEXT);
  }
  const marked = Buffer.from(`\ufeff${TEXT}`, 'utf16le');
  expect(loaded.textOf(marked, undefined)).toBe(TEXT);
  expect(loaded.textOf(marked.swap16(), undefined)).toBe(TEXT);
});
