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
import { errorCode } from '../contract/errors';

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

/** How a body is encoded; undefined when it is sent as it is. */
export function encodingOf({
  'content-encoding': said,
}: Dispatcher.ResponseData['headers']): string | undefined {
  const encoding = String(said ?? '')
    .trim()
    .toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/** The body behind an encoding, as one stream that ends, fails and is let go together with it; undefined for an unknown one. */
export function decodeBody(body: Readable, encoding: string): Readable | undefined {
  const decoder = DECODERS.get(encoding)?.();
  // Whatever fails is told by the stream itself.
  return decoder && pipeline(body, decoder, () => undefined);
}

export type DecodedBytes = { ok: true; bytes: Buffer } | { ok: false; why: 'too-large' | 'undecodable' };

/** A whole small body behind an encoding. One that is plain JSON after all, or in no encoding that is known, stays as it is. */
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
    // A proxy that decodes may leave the header.
    if (/^\s*[[{]/.test(encoded.toString('latin1', 0, 100))) return { ok: true, bytes: encoded };
    return { ok: false, why: 'undecodable' };
  }
}

/** The text of a body: UTF-16 where its first bytes or its type say so, and UTF-8 whatever else they say. */
export function textOf(bytes: Buffer, contentType: unknown): string {
  const [, charset] = /charset="?(utf-16(?:le|be)?)\b/i.exec(String(contentType ?? '')) ?? [];
  return new TextDecoder(MARKS.get(bytes.toString('hex', 0, 2)) ?? charset ?? 'utf-8').decode(bytes);
}

/** Byte order marks. */
const MARKS = new Map([
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
]);
