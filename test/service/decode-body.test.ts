import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { decodeBody, decodeBytes, encodingOf } from '../../src/service/decode-body';
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

it('a process knows every encoding from its first body on', async () => {
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
});
