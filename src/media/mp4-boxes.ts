import { type FileBytes, type Outline, unsigned } from './file-bytes';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Instead of a size: the size follows the type, in eight bytes. */
const SIZE_FOLLOWS = 1;
/** Instead of a size: the box reaches the end of the file. */
const TO_THE_END = 0;
/** Four printable characters; QuickTime has types with a ©. */
const TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** The type of a box whose real type is the UUID at the beginning of its content. */
const UUID_TYPE = 'uuid';
const UUID_BYTES = 16;
/** Content Credentials: appendix A of the C2PA specification, "Embedding manifests into BMFF-based assets". */
const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');

interface Box {
  type: string;
  at: number;
  /** As it is stated, header included. */
  size: number;
  /** Where its content begins, and where it ends in this file. */
  from: number;
  to: number;
}

/** The box at a place, `cut` when the file ends within its header, undefined when there is none. */
function boxAt(file: FileBytes, at: number, to: number): Box | 'cut' | undefined {
  const header = file.read(at, Math.min(at + LONG_HEADER_BYTES + UUID_BYTES, to));
  if (header.length < SHORT_HEADER_BYTES) return 'cut';
  const shortSize = header.readUInt32BE(0);
  const isLong = shortSize === SIZE_FOLLOWS;
  if (isLong && header.length < LONG_HEADER_BYTES) return 'cut';
  const stated = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
  const type = header.toString('latin1', 4, 8);
  const size = stated === TO_THE_END ? to - at : stated;
  const headerBytes = isLong ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
  // After the boxes there may be padding or a note of a tool, which players ignore.
  if (!TYPE.test(type) || size < headerBytes) return undefined;
  return { type, at, size, from: at + headerBytes, to: Math.min(at + size, to) };
}

function* boxesIn(file: FileBytes, { from, to }: Pick<Box, 'from' | 'to'>): Generator<Box> {
  for (let at = from; at < to; ) {
    const box = boxAt(file, at, to);
    if (box === undefined || box === 'cut') return;
    yield box;
    at += box.size;
  }
}

/** The box at a path of types, each the first of its type. */
function boxIn(file: FileBytes, outer: Box, ...[type, ...inner]: string[]): Box | undefined {
  if (type === undefined) return outer;
  for (const box of boxesIn(file, outer)) if (box.type === type) return boxIn(file, box, ...inner);
  return undefined;
}

/** Reads the outermost boxes of an MP4 or QuickTime file. */
export function outlineOfBoxes(file: FileBytes): Outline {
  const firsts = new Map<string, Box>();
  let c2paBytes = 0;
  let last = '';
  let indexedEnd: number | undefined;
  for (let at = 0; at < file.size; ) {
    const box = boxAt(file, at, file.size);
    if (box === 'cut') return { problem: 'it ends within the header of a box' };
    if (box === undefined) break;
    const { type, size, to } = box;
    if (at + size > file.size)
      return { problem: `it ends within its ${type} box: ${file.size - at} of ${size} bytes` };
    if (type === UUID_TYPE && file.read(box.from, Math.min(box.from + UUID_BYTES, to)).equals(C2PA_UUID))
      c2paBytes += size;
    // The index that lists the fragments comes before them.
    if (type === 'sidx' && !firsts.has('moof')) indexedEnd ??= endOfIndex(file, box);
    if (!firsts.has(type) && OUTERMOST.has(type)) firsts.set(type, box);
    last = type;
    at += size;
  }
  const moov = firsts.get('moov');
  if (!moov) return { problem: 'its moov box is missing' };
  if (!firsts.has('mdat')) return { problem: 'its mdat box is missing' };
  return { c2paBytes, ...endOfBoxes(file, moov, { indexedEnd, isIndexLast: last === 'mfra' }) };
}

/** A file can have any number of other types, so those are not collected. */
const OUTERMOST = new Set(['moov', 'moof', 'mdat']);

/** The tables of a file without fragments describe its last picture. A file of fragments may have an index or a duration. */
function endOfBoxes(
  file: FileBytes,
  moov: Box,
  { indexedEnd, isIndexLast }: { indexedEnd: number | undefined; isIndexLast: boolean },
): Outline {
  if (!boxIn(file, moov, 'mvex')) return { isEndChecked: true };
  if (indexedEnd !== undefined && indexedEnd > file.size)
    return { problem: `its sidx box lists ${indexedEnd} bytes, but the file has ${file.size}` };
  const isIndexed = indexedEnd === file.size;
  const statedSeconds = isIndexed ? undefined : secondsOfFragments(file, moov);
  return { isEndChecked: isIndexed || isIndexLast, ...(statedSeconds !== undefined && { statedSeconds }) };
}

/** `mehd`: the length of all fragments together, in the units of `mvhd`. */
function secondsOfFragments(file: FileBytes, moov: Box): number | undefined {
  const [unitAt, duration] = [boxIn(file, moov, 'mvhd'), boxIn(file, moov, 'mvex', 'mehd')];
  if (!unitAt || !duration) return undefined;
  // Version 1 has times of eight bytes; two of them come before the units.
  const timeBytes = ({ from }: Box) => (file.read(from, from + 1)[0] === 1 ? 8 : 4);
  const unitsFrom = unitAt.from + 4 + 2 * timeBytes(unitAt);
  const units = unsigned(file.read(unitsFrom, unitsFrom + 4));
  const length = unsigned(file.read(duration.from + 4, duration.from + 4 + timeBytes(duration)));
  return units > 0 && length > 0 ? length / units : undefined;
}

const SIDX_REFERENCE_BYTES = 12;

/** `sidx`: the size of each fragment. */
function endOfIndex(file: FileBytes, { from, to }: Box): number | undefined {
  const box = file.read(from, to);
  const offsetBytes = box[0] === 0 ? 4 : 8;
  const referencesAt = 12 + 2 * offsetBytes + 4;
  if (box.length < referencesAt) return undefined;
  let end = to + unsigned(box.subarray(12 + offsetBytes, 12 + 2 * offsetBytes));
  const count = box.readUInt16BE(referencesAt - 2);
  for (let index = 0; index < count; index++) {
    const at = referencesAt + index * SIDX_REFERENCE_BYTES;
    if (at + SIDX_REFERENCE_BYTES > box.length) return undefined;
    end += box.readUInt32BE(at) & 0x7fffffff;
  }
  return end;
}
