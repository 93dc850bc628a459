import type { FileBytes, Outline } from './file-bytes';

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const CUES = 0x1c53bb6b;
/** In a live recording these have no size. The scan enters them; they end where the next one begins. */
const MAY_BE_UNSIZED = new Set([SEGMENT, CLUSTER]);

const MAX_ID_BYTES = 4;
const MAX_SIZE_BYTES = 8;

interface Element {
  id: number;
  /** Where its content begins, and how long it is; undefined when it does not say so. */
  from: number;
  content: number | undefined;
}

/** Reads the outermost elements of a WebM or Matroska file. */
export function outlineOfElements(file: FileBytes): Outline {
  let hasSegment = false;
  let hasCluster = false;
  let isEndChecked = false;
  for (let at = 0; at < file.size; ) {
    const element = elementAt(file, at);
    if (element === 'cut') return { problem: 'it ends within the header of an element' };
    if (element === undefined) break;
    const { id, from, content } = element;
    hasSegment ||= id === SEGMENT;
    hasCluster ||= id === CLUSTER;
    isEndChecked ||= content !== undefined && (id === SEGMENT || (id === CUES && hasCluster));
    if (content === undefined && !MAY_BE_UNSIZED.has(id)) break;
    const next = from + (content ?? 0);
    if (next > file.size)
      return { problem: `it ends within one of its elements: ${file.size - at} of ${next - at} bytes` };
    at = next;
  }
  return hasSegment ? { isEndChecked } : { problem: 'its Segment element is missing' };
}

/** The element at a place, `cut` when the file ends within its header, undefined for padding, which players ignore. */
function elementAt(file: FileBytes, at: number): Element | 'cut' | undefined {
  const header = file.read(at, at + MAX_ID_BYTES + MAX_SIZE_BYTES);
  const idBytes = vintBytes(header[0] ?? 0);
  if (idBytes > MAX_ID_BYTES) return undefined;
  if (header.length <= idBytes) return 'cut';
  const sizeBytes = vintBytes(header[idBytes] ?? 0);
  if (sizeBytes > MAX_SIZE_BYTES) return undefined;
  const headerBytes = idBytes + sizeBytes;
  if (header.length < headerBytes) return 'cut';
  const content = vint(header.subarray(idBytes, headerBytes));
  return { id: header.readUIntBE(0, idBytes), from: at + headerBytes, content };
}

/** How many bytes a variable-length number has: one more for each zero bit at the start of its first byte. */
function vintBytes(first: number): number {
  return Math.clz32(first) - 23;
}

/** A variable-length number without its marker bit; all ones mean "unknown". */
function vint(bytes: Buffer): number | undefined {
  const firstMask = 0xff >> bytes.length;
  const first = (bytes[0] ?? 0) & firstMask;
  const rest = bytes.subarray(1);
  if (first === firstMask && rest.every((byte) => byte === 0xff)) return undefined;
  return rest.reduce((sum, byte) => sum * 256 + byte, first);
}
