import { vint, vintBytes } from './elements-in';
import { HeaderWalk } from './header-walk';

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
/** A live recording does not know how long these will be. They are gone into, and end where another begins. */
const MAY_BE_ENDLESS = new Set([SEGMENT, CLUSTER]);

const MOST_ID_BYTES = 4;
const MOST_SIZE_BYTES = 8;

/** The outermost elements of a WebM or Matroska file as they pass, and what of them is missing in the end. */
export class ElementWalk {
  private readonly walk = new HeaderWalk((header, have, at) => this.read(header, have, at));
  private element = { id: 0, at: 0, size: 0 };
  private hasSegment = false;
  private hasCluster = false;
  /** Whether the end of the file is one that its head tells, or the index that stands behind everything else. */
  hasKnownEnd = false;

  pass(chunk: Buffer): void {
    this.walk.pass(chunk);
  }

  /** What is not as it should be at the end of the file: one clause, for people. */
  problem(): string | undefined {
    const { passed, headerAt, have, isEndless } = this.walk;
    if (isEndless) return 'it has more elements than any video needs';
    if (have > 0) return 'it ends within the head of an element';
    if (headerAt > passed && headerAt < Infinity) {
      const { id, at, size } = this.element;
      const name = NAMES.get(id) ?? `0x${id.toString(16)}`;
      return `it ends within its ${name} element: ${passed - at} of ${size} bytes`;
    }
    return this.hasSegment ? undefined : 'its Segment element is missing';
  }

  private read(header: Buffer, have: number, at: number): number | undefined {
    const idBytes = vintBytes(header[0]);
    // Zeros, for example: padding, which readers pass over.
    if (idBytes > MOST_ID_BYTES) return Infinity;
    if (have <= idBytes) return undefined;
    const sizeBytes = vintBytes(header[idBytes]);
    if (sizeBytes > MOST_SIZE_BYTES) return Infinity;
    const headerBytes = idBytes + sizeBytes;
    if (have < headerBytes) return undefined;
    const id = header.readUIntBE(0, idBytes);
    const content = vint(header.subarray(idBytes, headerBytes));
    this.hasSegment ||= id === SEGMENT;
    this.hasCluster ||= id === CLUSTER;
    this.hasKnownEnd ||= content !== undefined && (id === SEGMENT || (id === CUES && this.hasCluster));
    if (content === undefined) return MAY_BE_ENDLESS.has(id) ? headerBytes : Infinity;
    this.element = { id, at, size: headerBytes + content };
    return headerBytes + content;
  }
}
