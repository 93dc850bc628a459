import { ByteTail } from './byte-tail';

/**
 * Tables of contents stand at either end of a file, and take some 20 bytes a frame and track: this is an hour or more
 * of film. It also makes that every video of up to twice as much is kept whole.
 */
export const WINDOW_BYTES = 4 * 1024 * 1024;
/** Most downloads that are no video are small; what is kept grows from here. */
const FIRST_HEAD_BYTES = 64 * 1024;

/** The first and the last bytes of a file that passes. */
export class KeptBytes {
  /** How many bytes have passed. */
  size = 0;
  /** How many are to pass, as far as somebody knows: what is in the middle is then let go at once, and not held a while. */
  of: number | undefined;
  private buffer = Buffer.alloc(0);
  private headBytes = 0;
  private readonly tail = new ByteTail(WINDOW_BYTES);

  keep(chunk: Buffer): void {
    const toHead = Math.min(chunk.length, WINDOW_BYTES - this.headBytes);
    if (toHead > 0) this.addToHead(chunk.subarray(0, toHead));
    this.size += chunk.length;
    if (toHead === chunk.length || this.size <= (this.of ?? 0) - WINDOW_BYTES) return;
    this.tail.keep(toHead === 0 ? chunk : chunk.subarray(toHead));
  }

  head(): Buffer {
    return this.buffer.subarray(0, this.headBytes);
  }

  /** How to read from what is kept, as long as nothing more passes. */
  reader(): KeptReader {
    return new KeptReader(this.head(), this.tail.join(), this.size);
  }

  private addToHead(bytes: Buffer): void {
    const length = this.headBytes + bytes.length;
    if (length > this.buffer.length) {
      const larger = Math.max(FIRST_HEAD_BYTES, length, Math.min(2 * this.buffer.length, WINDOW_BYTES));
      const before = this.head();
      this.buffer = Buffer.allocUnsafeSlow(larger);
      before.copy(this.buffer);
    }
    this.headBytes += bytes.copy(this.buffer, this.headBytes);
  }
}

/** Reads a file of which the middle may be gone. */
export class KeptReader {
  /** Whether anything was asked for that is gone. */
  missed = false;

  constructor(
    private readonly head: Buffer,
    private readonly tail: Buffer,
    readonly size: number,
  ) {}

  read(start: number, end: number): Buffer {
    const tailAt = this.size - this.tail.length;
    if (end <= this.head.length) return this.head.subarray(start, end);
    if (start >= tailAt) return this.tail.subarray(start - tailAt, end - tailAt);
    if (start < this.head.length && tailAt <= this.head.length) {
      return Buffer.concat([this.head.subarray(start), this.tail.subarray(0, end - tailAt)]);
    }
    this.missed = true;
    throw new Error(`Bytes ${start} to ${end} of the file were not kept.`);
  }
}
