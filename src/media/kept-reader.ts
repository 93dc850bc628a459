/** One part of a file that was kept. */
export interface SeenRange {
  at: number;
  bytes: Buffer;
}

/** More than any picture takes; what is asked for beyond that is no picture. */
const MOST_FILLED_BYTES = 32 * 1024 * 1024;

/** Reads a file of which parts may be gone. */
export class KeptReader {
  /** Whether anything was asked for that is gone. */
  missed = false;
  /** Whether zeros stand for what is gone behind bytes that are kept, as in a picture that is larger than what is kept. */
  fillsUnseen = false;

  constructor(
    private readonly ranges: SeenRange[],
    readonly size: number,
  ) {}

  read(start: number, end: number): Buffer {
    const seen = this.seen(start, end);
    if (seen.length === end - start) return seen;
    this.missed = true;
    if (this.fillsUnseen && seen.length > 0 && end - start <= MOST_FILLED_BYTES) {
      return Buffer.concat([seen], end - start);
    }
    throw new Error(`Bytes ${start} to ${end} of the file were not kept.`);
  }

  /** The file as if it ended with the first byte that is gone. */
  beginning(): KeptReader {
    const bytes = this.seen(0, this.size);
    return new KeptReader([{ at: 0, bytes }], bytes.length);
  }

  /** As many of these bytes as are kept, from the first of them on. */
  seen(start: number, end: number): Buffer {
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
