/** The first byte of a unit: whether later pictures depend on it (two bits), and its type (five bits). */
export const UNIT = { sequenceParameters: 0x67, pictureParameters: 0x68, keySlice: 0x65, deltaSlice: 0x41 };

/** Writes a unit of an H.264 stream: single bits, Exp-Golomb numbers and whole bytes. */
export class NalUnit {
  private readonly written: number[];
  /** Bits that do not fill a byte yet. */
  private pending = 0;
  private pendingBits = 0;
  private zeros = 0;

  constructor(header: number) {
    this.written = [header];
  }

  bits(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--) {
      this.pending = (this.pending << 1) | ((value >>> bit) & 1);
      this.pendingBits++;
      if (this.pendingBits < 8) continue;
      this.byte(this.pending);
      this.pending = 0;
      this.pendingBits = 0;
    }
    return this;
  }

  /** ue(v) in the standard: small numbers take few bits. */
  unsigned(...values: number[]): this {
    for (const value of values) {
      const digits = 32 - Math.clz32(value + 1);
      this.bits(0, digits - 1).bits(value + 1, digits);
    }
    return this;
  }

  /** Whole bytes, after zero bits up to the next whole byte. */
  bytes(source: Buffer): this {
    this.align();
    for (const byte of source) this.byte(byte);
    return this;
  }

  /** The whole unit, with the stop bit that ends it. */
  finish(): Buffer {
    this.bits(1, 1).align();
    return Buffer.from(this.written);
  }

  private align(): void {
    if (this.pendingBits > 0) this.bits(0, 8 - this.pendingBits);
  }

  /** A byte 03 splits every 00 00 0x in the content, which would start another unit. */
  private byte(value: number): void {
    if (this.zeros >= 2 && value <= 3) {
      this.written.push(3);
      this.zeros = 0;
    }
    this.written.push(value);
    this.zeros = value === 0 ? this.zeros + 1 : 0;
  }
}
