import { pipeline, type Readable } from 'node:stream';
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzipSync,
  inflateSync,
} from 'node:zlib';
import type { Dispatcher } from 'undici';

const GZIP = { stream: createGunzip, decode: gunzipSync };
const DECODERS = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { stream: createInflate, decode: inflateSync }],
  ['br', { stream: createBrotliDecompress, decode: brotliDecompressSync }],
]);

/** The encoding of a body; undefined when it has none. */
export function encodingOf(headers: Dispatcher.ResponseData['headers']): string | undefined {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/** The decoded body as one stream, which ends, fails and is destroyed with it; undefined for an unknown encoding. */
export function decodeBody(body: Readable, encoding: string): Readable | undefined {
  const decoder = DECODERS.get(encoding)?.stream();
  // Errors reach the reader through the stream.
  return decoder && pipeline(body, decoder, () => undefined);
}

/** A whole small body, decoded. One that is plain JSON, or in an unknown encoding, is returned unchanged. */
export function decodeBytes(encoded: Buffer, encoding: string, maxOutputLength: number): Buffer {
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined || encoded.length === 0) return encoded;
  try {
    return decoder.decode(encoded, { maxOutputLength });
  } catch (error) {
    // A proxy may decode the body and leave the header.
    if (/^\s*[[{]/.test(encoded.toString('latin1', 0, 100))) return encoded;
    throw error;
  }
}
