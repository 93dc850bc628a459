/** How far the next header is from the beginning of this one; undefined when more bytes of this one are needed. */
export type ReadHeader = (header: Buffer, have: number, at: number) => number | undefined;

/** The longest header that is known: 4 bytes of id and 8 of size, or 8 and 8. */
const MOST_HEADER_BYTES = 16;
/** A fragment for each frame and track makes a quarter of this in an hour. All of them take half a second. */
const MOST_HEADERS = 1_000_000;

/** Goes from header to header of a file that passes in chunks, wherever the chunks end, and looks at nothing else. */
export class HeaderWalk {
  /** How many bytes have passed. */
  passed = 0;
  /** Where the header is that is read or waited for. */
  headerAt = 0;
  /** How many bytes of it have come. */
  have = 0;
  private headers = 0;
  private readonly header = Buffer.alloc(MOST_HEADER_BYTES);

  constructor(private readonly read: ReadHeader) {}

  /** Whether it was given up because there were too many headers. */
  get isEndless(): boolean {
    return this.headers > MOST_HEADERS;
  }

  pass(chunk: Buffer): void {
    const start = this.passed;
    this.passed += chunk.length;
    while (this.headerAt + this.have < this.passed) {
      this.header[this.have] = chunk[this.headerAt + this.have - start] ?? 0;
      this.have++;
      const step = this.read(this.header, this.have, this.headerAt);
      if (step === undefined) continue;
      this.headers++;
      this.headerAt = this.isEndless ? Infinity : this.headerAt + step;
      this.have = 0;
    }
  }
}
