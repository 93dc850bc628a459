import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib';
import type { Dispatcher } from 'undici';
import { errorCode } from '../contract/error-code';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

const WHOLE_DECODERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
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
  const decoder = DECODERS.get(encoding)?.();
  // Errors reach the reader through the stream.
  return decoder && pipeline(body, decoder, () => undefined);
}

export type DecodedBytes = { ok: true; bytes: Buffer } | { ok: false; why: 'too-large' | 'undecodable' };

/** A whole small body, decoded. One that is plain JSON, or in an unknown encoding, is returned unchanged. */
export async function decodeBytes(
  encoded: Buffer,
  encoding: string,
  maxOutputLength: number,
): Promise<DecodedBytes> {
  const decode = WHOLE_DECODERS.get(encoding);
  if (decode === undefined || encoded.length === 0) return { ok: true, bytes: encoded };
  try {
    return { ok: true, bytes: await decode(encoded, { maxOutputLength }) };
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return { ok: false, why: 'too-large' };
    // A proxy may decode the body and leave the header.
    if (/^\s*[[{]/.test(encoded.toString('latin1', 0, 100))) return { ok: true, bytes: encoded };
    return { ok: false, why: 'undecodable' };
  }
}
