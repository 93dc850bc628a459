import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
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
