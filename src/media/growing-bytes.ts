/** Most downloads that are no video are small; what is kept grows from here. */
const FIRST_BYTES = 64 * 1024;

/** Bytes that are added to up to a bound, in at most twice the memory of what has really come. */
export class GrowingBytes {
  length = 0;
  private buffer = Buffer.alloc(0);

  constructor(readonly most: number) {}

  /** Takes as many as there is room for, and answers how many those are. */
  add(bytes: Buffer): number {
    const taken = bytes.subarray(0, this.most - this.length);
    const length = this.length + taken.length;
    if (length > this.buffer.length) {
      const larger = Math.max(FIRST_BYTES, length, 2 * this.buffer.length);
      const before = this.bytes();
      this.buffer = Buffer.allocUnsafeSlow(Math.min(larger, this.most));
      before.copy(this.buffer);
    }
    taken.copy(this.buffer, this.length);
    this.length = length;
    return taken.length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }
}
