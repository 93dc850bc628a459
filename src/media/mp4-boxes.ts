import { HeaderScan } from './header-scan';
import type { RetainedReader } from './retained-reader';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Instead of a size: the size follows the type, in eight bytes. */
const SIZE_FOLLOWS = 1;
/** Instead of a size: the box reaches the end of the file. */
const TO_THE_END = 0;
/** Four printable characters; QuickTime has types with a ©. */
const TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** The tables of four hours of film with sound. A service that makes seconds of video sends a thousandth of it. */
export const MAX_MOOV_BYTES = 16 * 1024 * 1024;

/** The type of a box whose real type is the UUID at the beginning of its content. */
const UUID_TYPE = 'uuid';
const UUID_BYTES = 16;
/** Content Credentials: appendix A of the C2PA specification, "Embedding manifests into BMFF-based assets". */
const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');

const REPORTED_TYPES = new Set(['moov', 'moof', 'mdat']);

export interface Box {
  type: string;
  at: number;
  /** Infinity when it reaches the end of the file. */
  size: number;
}

/** Scans the outermost boxes of an MP4 or QuickTime file as it comes, and finds what is missing at its end. */
export class BoxScan {
  private readonly scan = new HeaderScan((header, have, at) => this.read(header, have, at));
  private box: Box = { type: '', at: 0, size: 0 };
  private readonly firsts = new Map<string, Box>();
  private c2paSize = 0;

  /** `onFirst` is called with the first moov, moof and mdat box when its header has come. */
  constructor(private readonly onFirst: (box: Box, header: Buffer) => void = () => undefined) {}

  add(chunk: Buffer): void {
    this.scan.add(chunk);
  }

  /** Call it at the end of the file. One clause for the user: `its moov box is missing`. */
  problem(): string | undefined {
    const { scanned, headerAt, have, hasTooManyHeaders } = this.scan;
    if (hasTooManyHeaders) return 'it has more boxes than any video needs';
    if (have > 0) return 'it ends within the header of a box';
    // Infinity: the last box reaches the end of the file.
    if (headerAt > scanned && headerAt < Infinity) {
      const { type, at, size } = this.box;
      return `it ends within its ${type} box: ${scanned - at} of ${size} bytes`;
    }
    const moov = this.firsts.get('moov');
    if (!moov) return 'its moov box is missing';
    const moovBytes = Math.min(moov.size, scanned - moov.at);
    if (moovBytes > MAX_MOOV_BYTES) return `its moov box has ${moovBytes} bytes, more than any video needs`;
    return this.firsts.has('mdat') ? undefined : 'its mdat box is missing';
  }

  /** How many bytes the C2PA boxes of the file have, headers included. */
  get c2paBytes(): number {
    // The last box may reach the end of the file.
    return Math.min(this.c2paSize, this.scan.scanned);
  }

  /** Whether the file ends with the index that follows all fragments. */
  get endsWithIndex(): boolean {
    return this.box.type === 'mfra';
  }

  private read(header: Buffer, have: number, at: number): number | undefined {
    if (have < SHORT_HEADER_BYTES) return undefined;
    const shortSize = header.readUInt32BE(0);
    const isLong = shortSize === SIZE_FOLLOWS;
    if (isLong && have < LONG_HEADER_BYTES) return undefined;
    const size = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
    const type = header.toString('latin1', 4, 8);
    // After the boxes there may be padding or a note of a tool, which players ignore.
    if (!TYPE.test(type)) return Infinity;
    const sizeOfHeader = isLong ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
    if (size !== TO_THE_END && size < sizeOfHeader) return Infinity;
    const hasUuid = type === UUID_TYPE && (size === TO_THE_END || size >= sizeOfHeader + UUID_BYTES);
    if (hasUuid && have < sizeOfHeader + UUID_BYTES) return undefined;
    this.box = { type, at, size: size === TO_THE_END ? Infinity : size };
    if (hasUuid && header.subarray(sizeOfHeader, have).equals(C2PA_UUID)) this.c2paSize += this.box.size;
    this.reportFirst(this.box, header.subarray(0, have));
    return this.box.size;
  }

  private reportFirst(box: Box, header: Buffer): void {
    // A file can have any number of other types, so those are not collected.
    if (!REPORTED_TYPES.has(box.type) || this.firsts.has(box.type)) return;
    this.firsts.set(box.type, box);
    this.onFirst(box, header);
  }
}

/** More than any file has outside its fragments. Reading them takes milliseconds. */
const MAX_BOXES = 20_000;

export interface BoxContent {
  type: string;
  /** Where its content begins, and where it ends. */
  from: number;
  to: number;
}

/** The boxes in a range of a file, as far as they are retained and valid. */
export function* boxesIn(reader: RetainedReader, from: number, to: number): Generator<BoxContent> {
  let at = from;
  for (let count = 0; count < MAX_BOXES && at + SHORT_HEADER_BYTES <= to; count++) {
    const header = reader.available(at, Math.min(at + LONG_HEADER_BYTES, to));
    if (header.length < SHORT_HEADER_BYTES) return;
    const shortSize = header.readUInt32BE(0);
    const isLong = shortSize === SIZE_FOLLOWS && header.length === LONG_HEADER_BYTES;
    const size = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
    const headerBytes = isLong ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
    if (size < headerBytes) return;
    yield { type: header.toString('latin1', 4, 8), from: at + headerBytes, to: Math.min(at + size, to) };
    at += size;
  }
}

/** The box at a path of types, each the first of its type: `moov`, in it `mvex`, in it `mehd`. */
export function boxAt(reader: RetainedReader, path: string[]): BoxContent | undefined {
  let box: BoxContent | undefined = { type: '', from: 0, to: reader.size };
  for (const type of path) box = box && firstBox(reader, box, type);
  return box;
}

function firstBox(reader: RetainedReader, { from, to }: BoxContent, type: string): BoxContent | undefined {
  for (const box of boxesIn(reader, from, to)) if (box.type === type) return box;
  return undefined;
}
