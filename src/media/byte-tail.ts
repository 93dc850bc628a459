/** Smaller chunks are gathered up to this: a million Buffers of one byte take a hundred times their bytes. */
const BLOCK_BYTES = 16 * 1024;

/**
 * The last bytes of what passes. Chunks are kept as they are, without a copy, and must not be written to afterwards.
 * Those are copied that would hold on to more memory than they are worth: the small ones, and parts of something large.
 */
export class ByteTail {
  private readonly blocks: Buffer[] = [];
  private blockBytes = 0;
  private readonly gathering = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  private gathered = 0;

  constructor(private readonly most: number) {}

  /** How many bytes are kept: at least as many as were asked for, once they have passed. */
  get length(): number {
    return this.blockBytes + this.gathered;
  }

  keep(chunk: Buffer): void {
    if (this.gathered + chunk.length > BLOCK_BYTES) this.closeGathered();
    if (chunk.length < BLOCK_BYTES) this.gathered += chunk.copy(this.gathering, this.gathered);
    else this.add(this.isWorthItsMemory(chunk) ? chunk : Buffer.from(chunk.subarray(-this.most)));
    this.dropOld();
  }

  /** All of it, as it is kept. */
  pieces(): Buffer[] {
    return [...this.blocks, this.gathering.subarray(0, this.gathered)];
  }

  private closeGathered(): void {
    if (this.gathered > 0) this.add(Buffer.from(this.gathering.subarray(0, this.gathered)));
    this.gathered = 0;
  }

  private add(block: Buffer): void {
    this.blocks.push(block);
    this.blockBytes += block.length;
  }

  private dropOld(): void {
    let oldest = this.blocks[0];
    while (oldest && this.length - oldest.length >= this.most) {
      this.blocks.shift();
      this.blockBytes -= oldest.length;
      oldest = this.blocks[0];
    }
  }

  /** A part of a Buffer keeps all of it alive. */
  private isWorthItsMemory(chunk: Buffer): boolean {
    return chunk.length <= this.most && chunk.buffer.byteLength <= 2 * chunk.length;
  }
}
