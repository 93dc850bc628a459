/**
 * Reads a header of which `have` bytes have come. Returns the distance from its start to the next header; undefined when
 * more bytes are needed.
 */
export type ReadHeader = (header: Buffer, have: number, at: number) => number | undefined;

/** The longest known header: 4 bytes of size, 4 of type, 8 of size, and the 16 of a `uuid` box. */
const MAX_HEADER_BYTES = 32;
/** A fragment for each frame and track makes a quarter of this in an hour. Scanning all of them takes half a second. */
const MAX_HEADERS = 1_000_000;

/** Reads only the headers of a file that comes in chunks of any size. */
export class HeaderScan {
  /** How many bytes have come. */
  scanned = 0;
  /** Where the next header is, or the one that is only partly there. */
  headerAt = 0;
  /** How many bytes of that header have come. */
  have = 0;
  private headers = 0;
  private readonly header = Buffer.alloc(MAX_HEADER_BYTES);

  constructor(private readonly read: ReadHeader) {}

  /** Whether the scan was given up. */
  get hasTooManyHeaders(): boolean {
    return this.headers > MAX_HEADERS;
  }

  add(chunk: Buffer): void {
    const start = this.scanned;
    this.scanned += chunk.length;
    while (this.headerAt + this.have < this.scanned) {
      this.header[this.have] = chunk[this.headerAt + this.have - start] ?? 0;
      this.have++;
      const step = this.read(this.header, this.have, this.headerAt);
      if (step === undefined) continue;
      this.headers++;
      this.headerAt = this.hasTooManyHeaders ? Infinity : this.headerAt + step;
      this.have = 0;
    }
  }
}
