import { ByteTail } from './byte-tail';
import { GrowingBytes } from './growing-bytes';

/**
 * Tables of contents stand at either end of most files, and take some 20 bytes a frame and track: this is an hour or
 * more of film. Every video of up to twice as much is kept whole.
 */
export const WINDOW_BYTES = 4 * 1024 * 1024;

/** A part of a file, in as many pieces as it was kept in. */
export interface KeptRange {
  at: number;
  pieces: Buffer[];
}

/** A part that lies between the ends, and how much of it is still to pass. */
interface WantedPart {
  at: number;
  bytes: GrowingBytes;
}

/** The first and the last bytes of a file that passes, and the parts between them that somebody asked for. */
export class KeptBytes {
  /** How many bytes have passed. */
  size = 0;
  /** How many are to pass, as far as somebody knows: what is in the middle is then let go at once, and not held a while. */
  of: number | undefined;
  private readonly first = new GrowingBytes(WINDOW_BYTES);
  private readonly tail = new ByteTail(WINDOW_BYTES);
  private readonly parts: WantedPart[] = [];

  /** Keeps a part that begins with bytes which have passed, or are about to, and goes on with those that come. */
  want(at: number, length: number, begin: Buffer): void {
    if (at + length <= WINDOW_BYTES) return;
    const bytes = new GrowingBytes(length);
    bytes.add(begin);
    this.parts.push({ at, bytes });
  }

  keep(chunk: Buffer): void {
    for (const part of this.parts) this.addTo(part, chunk);
    const toHead = this.first.add(chunk);
    this.size += chunk.length;
    if (toHead === chunk.length || this.size <= (this.of ?? 0) - WINDOW_BYTES) return;
    this.tail.keep(toHead === 0 ? chunk : chunk.subarray(toHead));
  }

  head(): Buffer {
    return this.first.bytes();
  }

  /** All that is kept, without a copy, as long as nothing more passes. */
  ranges(): KeptRange[] {
    const between = this.parts.map(({ at, bytes }) => ({ at, pieces: [bytes.bytes()] }));
    const tail = { at: this.size - this.tail.length, pieces: this.tail.pieces() };
    return [{ at: 0, pieces: [this.head()] }, ...between, tail];
  }

  private addTo({ at, bytes }: WantedPart, chunk: Buffer): void {
    const next = at + bytes.length - this.size;
    if (bytes.length < bytes.most && next >= 0 && next < chunk.length) bytes.add(chunk.subarray(next));
  }
}
