/** Writes the fields of an H.264 stream, single bits, Exp-Golomb numbers and whole bytes, into a growing buffer. */
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

  /** ue(v) in the standard: small numbers take few bits. */
  unsigned(value: number): this {
    const code = value + 1;
    const digits = 32 - Math.clz32(code);
    return this.bits(0, digits - 1).bits(code, digits);
  }

  /** se(v) in the standard: 0, 1, -1, 2, -2 … in the order of ue(v). */
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

  /** Everything written, with the stop bit that ends every unit of the stream. */
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

/** The first byte of a unit: whether later pictures depend on it (two bits), and its type (five bits). */
export const UNIT = { sequenceParameters: 0x67, pictureParameters: 0x68, keySlice: 0x65, deltaSlice: 0x41 };

/** A unit of an H.264 stream. A byte 03 splits every 00 00 0x in its content, which would start another unit. */
export function nalUnit(header: number, content: Buffer): Buffer {
  // At worst every second byte of the content is followed by a 03.
  const unit = Buffer.allocUnsafe(1 + content.length + (content.length >> 1) + 1);
  let length = 0;
  let zeros = 0;
  unit[length++] = header;
  for (const byte of content) {
    if (zeros >= 2 && byte <= 3) {
      unit[length++] = 3;
      zeros = 0;
    }
    unit[length++] = byte;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return unit.subarray(0, length);
}
