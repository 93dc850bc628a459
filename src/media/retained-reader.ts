/** A retained part of a file, in one piece. */
export interface ReadableRange {
  at: number;
  bytes: Buffer;
}

/** Larger than any picture. */
const MAX_FILLED_BYTES = 32 * 1024 * 1024;

/** Reads a file of which only parts were retained. */
export class RetainedReader {
  /** Whether a read needed bytes that were not retained. */
  missed = false;
  /** Whether a read that begins with retained bytes is filled up with zeros, for a picture larger than what was retained. */
  fillsMissing = false;

  constructor(
    private readonly ranges: ReadableRange[],
    readonly size: number,
  ) {}

  read(start: number, end: number): Buffer {
    const available = this.available(start, end);
    if (available.length === end - start) return available;
    this.missed = true;
    if (this.fillsMissing && available.length > 0 && end - start <= MAX_FILLED_BYTES) {
      return Buffer.concat([available], end - start);
    }
    throw new Error(`Bytes ${start} to ${end} of the file were not retained.`);
  }

  /** The file as if it ended before the first byte that was not retained. */
  beginning(): RetainedReader {
    const bytes = this.available(0, this.size);
    return new RetainedReader([{ at: 0, bytes }], bytes.length);
  }

  /** As many of these bytes as were retained, from the first one on. */
  available(start: number, end: number): Buffer {
    const pieces: Buffer[] = [];
    for (let at = start; at < end; ) {
      const range = this.ranges.find((one) => one.at <= at && at < one.at + one.bytes.length);
      if (!range) break;
      const piece = range.bytes.subarray(at - range.at, end - range.at);
      pieces.push(piece);
      at += piece.length;
    }
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }
}
