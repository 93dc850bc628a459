import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ResumePoint, VideoBody } from '../../src/service';

/** How many bytes are written at once. */
const CHUNK_BYTES = 256 * 1024;

/** These bytes as a video that a server sends. It resumes where it is asked to, if the part is of the same bytes. */
export function openVideoBytes(bytes: Uint8Array, { from }: { from?: ResumePoint } = {}): VideoBody {
  const validator = `"sha256-${createHash('sha256').update(bytes).digest('hex')}"`;
  const canResume = from?.validator === validator && from.offset > 0 && from.offset <= bytes.length;
  const offset = canResume ? from.offset : 0;
  return {
    stream: Readable.from(chunksOf(bytes, offset), { objectMode: false }),
    offset,
    bytes: bytes.length,
    validator,
  };
}

function* chunksOf(bytes: Uint8Array, from: number): Generator<Buffer> {
  for (let start = from; start < bytes.length; start += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, bytes.length - start);
    yield Buffer.from(bytes.buffer, bytes.byteOffset + start, length);
  }
}
