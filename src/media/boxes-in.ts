import type { KeptReader } from './kept-reader';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** More than are in any file outside its fragments, and some milliseconds. */
const MOST_BOXES = 20_000;

export interface BoxInFile {
  type: string;
  /** Where its content begins, and where it ends. */
  from: number;
  to: number;
}

/** The boxes between two places of a file, one after the other, as far as they can be seen and make sense. */
export function* boxesIn(kept: KeptReader, from: number, to: number): Generator<BoxInFile> {
  let at = from;
  for (let count = 0; count < MOST_BOXES && at + SHORT_HEADER_BYTES <= to; count++) {
    const header = kept.seen(at, Math.min(at + LONG_HEADER_BYTES, to));
    if (header.length < SHORT_HEADER_BYTES) return;
    const shortSize = header.readUInt32BE(0);
    const isLong = shortSize === 1 && header.length === LONG_HEADER_BYTES;
    const size = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
    const headerBytes = isLong ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
    if (size < headerBytes) return;
    yield { type: header.toString('latin1', 4, 8), from: at + headerBytes, to: Math.min(at + size, to) };
    at += size;
  }
}

/** The first box of each type along a path: `moov`, in it `mvex`, in it `mehd`. */
export function boxAt(kept: KeptReader, path: string[]): BoxInFile | undefined {
  let place: BoxInFile | undefined = { type: '', from: 0, to: kept.size };
  for (const type of path) place = place && firstBox(kept, place, type);
  return place;
}

function firstBox(kept: KeptReader, { from, to }: BoxInFile, type: string): BoxInFile | undefined {
  for (const box of boxesIn(kept, from, to)) if (box.type === type) return box;
  return undefined;
}
