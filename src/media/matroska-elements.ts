import { HeaderScan } from './header-scan';

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const CUES = 0x1c53bb6b;
const NAMES = new Map([
  [0x1a45dfa3, 'EBML head'],
  [SEGMENT, 'Segment'],
  [CLUSTER, 'Cluster'],
  [0x114d9b74, 'SeekHead'],
  [0x1549a966, 'Info'],
  [0x1654ae6b, 'Tracks'],
  [CUES, 'Cues'],
  [0xa3, 'SimpleBlock'],
  [0xa0, 'BlockGroup'],
]);
/** In a live recording these have no size. The scan enters them; they end where the next one begins. */
const MAY_BE_UNSIZED = new Set([SEGMENT, CLUSTER]);

const MAX_ID_BYTES = 4;
const MAX_SIZE_BYTES = 8;

/** Scans the outermost elements of a WebM or Matroska file as it comes, and finds what is missing at its end. */
export class ElementScan {
  private readonly scan = new HeaderScan((header, have, at) => this.read(header, have, at));
  private element = { id: 0, at: 0, size: 0 };
  private hasSegment = false;
  private hasCluster = false;
  /** Whether the file states its end, by the size of its Segment or by the index after everything else. */
  hasKnownEnd = false;

  add(chunk: Buffer): void {
    this.scan.add(chunk);
  }

  /** Call it at the end of the file. One clause for the user: `its Segment element is missing`. */
  problem(): string | undefined {
    const { scanned, headerAt, have, hasTooManyHeaders } = this.scan;
    if (hasTooManyHeaders) return 'it has more elements than any video needs';
    if (have > 0) return 'it ends within the header of an element';
    if (headerAt > scanned && headerAt < Infinity) {
      const { id, at, size } = this.element;
      const name = NAMES.get(id) ?? `0x${id.toString(16)}`;
      return `it ends within its ${name} element: ${scanned - at} of ${size} bytes`;
    }
    return this.hasSegment ? undefined : 'its Segment element is missing';
  }

  private read(header: Buffer, have: number, at: number): number | undefined {
    const idBytes = vintBytes(header[0]);
    // Zeros, for example: padding, which players ignore.
    if (idBytes > MAX_ID_BYTES) return Infinity;
    if (have <= idBytes) return undefined;
    const sizeBytes = vintBytes(header[idBytes]);
    if (sizeBytes > MAX_SIZE_BYTES) return Infinity;
    const headerBytes = idBytes + sizeBytes;
    if (have < headerBytes) return undefined;
    const id = header.readUIntBE(0, idBytes);
    const content = vint(header.subarray(idBytes, headerBytes));
    this.hasSegment ||= id === SEGMENT;
    this.hasCluster ||= id === CLUSTER;
    this.hasKnownEnd ||= content !== undefined && (id === SEGMENT || (id === CUES && this.hasCluster));
    if (content === undefined) return MAY_BE_UNSIZED.has(id) ? headerBytes : Infinity;
    this.element = { id, at, size: headerBytes + content };
    return headerBytes + content;
  }
}

/** An element of a Matroska file, and where its content begins and ends. */
export interface ElementContent {
  id: number;
  from: number;
  to: number;
  /** Whether its header has a size; without one it reaches the end. */
  isSized: boolean;
}

/** The elements in some bytes, as far as they are valid. The last may end beyond the bytes. */
export function* elementsIn(bytes: Buffer, from: number, to: number): Generator<ElementContent> {
  for (let at = from; at < to; ) {
    const idBytes = vintBytes(bytes[at]);
    const sizeAt = at + idBytes;
    const sizeBytes = vintBytes(bytes[sizeAt]);
    const contentAt = sizeAt + sizeBytes;
    if (idBytes > MAX_ID_BYTES || sizeBytes > MAX_SIZE_BYTES || contentAt > to) return;
    const size = vint(bytes.subarray(sizeAt, contentAt));
    const end = contentAt + (size ?? Infinity);
    yield { id: bytes.readUIntBE(at, idBytes), from: contentAt, to: end, isSized: size !== undefined };
    at = end;
  }
}

/** How many bytes a variable-length number has: one more for each zero bit at the start of its first byte. */
function vintBytes(first: number | undefined): number {
  return Math.clz32(first ?? 0) - 23;
}

/** A variable-length number without its marker bit; all ones mean "unknown". */
function vint(bytes: Buffer): number | undefined {
  const firstMask = 0xff >> bytes.length;
  let value = (bytes[0] ?? 0) & firstMask;
  let isKnown = value !== firstMask;
  for (const byte of bytes.subarray(1)) {
    isKnown ||= byte !== 0xff;
    value = value * 256 + byte;
  }
  return isKnown ? value : undefined;
}

/** A number of fixed length. */
export function unsigned(bytes: Buffer): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}
