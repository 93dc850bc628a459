/** Writes the fields of an H.264 stream: single bits, Exp-Golomb numbers and whole bytes, into a buffer that grows. */
export class BitWriter {
  private buffer = Buffer.allocUnsafe(4096);
  private length = 0;
  /** Bits that do not fill a byte yet. */
  private pending = 0;
  private pendingBits = 0;

  bits(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--) {
      this.pending = (this.pending << 1) | ((value >>> bit) & 1);
      this.pendingBits++;
      if (this.pendingBits === 8) this.flush();
    }
    return this;
  }

  flag(value: boolean): this {
    return this.bits(value ? 1 : 0, 1);
  }

  /** ue(v) of the standard: small numbers take few bits. */
  unsigned(value: number): this {
    const code = value + 1;
    const digits = 32 - Math.clz32(code);
    return this.bits(0, digits - 1).bits(code, digits);
  }

  /** se(v) of the standard: 0, 1, -1, 2, -2 … in the order of ue(v). */
  signed(value: number): this {
    return this.unsigned(value > 0 ? 2 * value - 1 : -2 * value);
  }

  /** Zero bits up to the next whole byte. */
  align(): this {
    return this.pendingBits === 0 ? this : this.bits(0, 8 - this.pendingBits);
  }

  /** Whole bytes; the writer must be aligned. */
  bytes(source: Buffer, start: number, end: number): this {
    this.reserve(end - start);
    this.length += source.copy(this.buffer, this.length, start, end);
    return this;
  }

  /** What was written, closed with the stop bit that every unit of the stream ends with. */
  finish(): Buffer {
    this.bits(1, 1).align();
    return this.buffer.subarray(0, this.length);
  }

  private flush(): void {
    this.reserve(1);
    this.buffer[this.length++] = this.pending;
    this.pending = 0;
    this.pendingBits = 0;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + count));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
