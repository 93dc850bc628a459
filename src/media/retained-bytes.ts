/**
 * Tables are at either end of most files and take some 20 bytes per frame and track: this is an hour or more of film. A
 * video of up to twice this size is retained whole.
 */
export const WINDOW_BYTES = 4 * 1024 * 1024;

/** A retained part of a file, in one or more pieces. */
export interface RetainedRange {
  at: number;
  pieces: Buffer[];
}

interface RetainedPart {
  at: number;
  bytes: GrowingBytes;
}

/** Retains the first and the last bytes of a stream, and requested parts between them. */
export class RetainedBytes {
  /** How many bytes have come. */
  size = 0;
  /** How many bytes will come, if known: the middle is then dropped at once. */
  expectedSize: number | undefined;
  private readonly first = new GrowingBytes(WINDOW_BYTES);
  private readonly tail = new ByteTail(WINDOW_BYTES);
  private readonly parts: RetainedPart[] = [];

  /** Retains a part whose first bytes, `begin`, have come already or come with the current chunk. */
  retainPart(at: number, length: number, begin: Buffer): void {
    if (at + length <= WINDOW_BYTES) return;
    const bytes = new GrowingBytes(length);
    bytes.add(begin);
    this.parts.push({ at, bytes });
  }

  add(chunk: Buffer): void {
    for (const part of this.parts) this.addTo(part, chunk);
    const toHead = this.first.add(chunk);
    this.size += chunk.length;
    if (toHead === chunk.length || this.size <= (this.expectedSize ?? 0) - WINDOW_BYTES) return;
    this.tail.add(toHead === 0 ? chunk : chunk.subarray(toHead));
  }

  head(): Buffer {
    return this.first.bytes();
  }

  /** Everything retained, not copied: valid until the next `add`. */
  ranges(): RetainedRange[] {
    const between = this.parts.map(({ at, bytes }) => ({ at, pieces: [bytes.bytes()] }));
    const tail = { at: this.size - this.tail.length, pieces: this.tail.pieces() };
    return [{ at: 0, pieces: [this.head()] }, ...between, tail];
  }

  private addTo({ at, bytes }: RetainedPart, chunk: Buffer): void {
    const next = at + bytes.length - this.size;
    if (bytes.length < bytes.maxBytes && next >= 0 && next < chunk.length) bytes.add(chunk.subarray(next));
  }
}

/** Most downloads that are not a video are small. */
const FIRST_CAPACITY_BYTES = 64 * 1024;

/** Up to `maxBytes` bytes, in at most twice the memory of what has come. */
class GrowingBytes {
  length = 0;
  private buffer = Buffer.alloc(0);

  constructor(readonly maxBytes: number) {}

  /** Adds as many bytes as there is room for; returns how many. */
  add(bytes: Buffer): number {
    const added = bytes.subarray(0, this.maxBytes - this.length);
    const length = this.length + added.length;
    if (length > this.buffer.length) {
      const larger = Math.max(FIRST_CAPACITY_BYTES, length, 2 * this.buffer.length);
      const before = this.bytes();
      this.buffer = Buffer.allocUnsafeSlow(Math.min(larger, this.maxBytes));
      before.copy(this.buffer);
    }
    added.copy(this.buffer, this.length);
    this.length = length;
    return added.length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }
}

/** Smaller chunks are collected up to this: a million Buffers of one byte take a hundred times their bytes. */
const BLOCK_BYTES = 16 * 1024;

/**
 * The last bytes of a stream. Large chunks are retained without a copy and must not be changed afterwards. Small chunks,
 * and slices of something larger, are copied: they would retain more memory than they are worth.
 */
export class ByteTail {
  private readonly blocks: Buffer[] = [];
  private blockBytes = 0;
  private readonly collector = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  private collected = 0;

  constructor(private readonly minBytes: number) {}

  /** How many bytes are retained: at least `minBytes` once that many have come. */
  get length(): number {
    return this.blockBytes + this.collected;
  }

  add(chunk: Buffer): void {
    if (this.collected + chunk.length > BLOCK_BYTES) this.closeCollector();
    if (chunk.length < BLOCK_BYTES) this.collected += chunk.copy(this.collector, this.collected);
    else this.addBlock(this.isWorthItsMemory(chunk) ? chunk : Buffer.from(chunk.subarray(-this.minBytes)));
    this.dropOld();
  }

  /** All retained bytes, in their order. */
  pieces(): Buffer[] {
    return [...this.blocks, this.collector.subarray(0, this.collected)];
  }

  private closeCollector(): void {
    if (this.collected > 0) this.addBlock(Buffer.from(this.collector.subarray(0, this.collected)));
    this.collected = 0;
  }

  private addBlock(block: Buffer): void {
    this.blocks.push(block);
    this.blockBytes += block.length;
  }

  private dropOld(): void {
    let oldest = this.blocks[0];
    while (oldest && this.length - oldest.length >= this.minBytes) {
      this.blocks.shift();
      this.blockBytes -= oldest.length;
      oldest = this.blocks[0];
    }
  }

  /** A slice retains the memory of the whole Buffer. */
  private isWorthItsMemory(chunk: Buffer): boolean {
    return chunk.length <= this.minBytes && chunk.buffer.byteLength <= 2 * chunk.length;
  }
}
