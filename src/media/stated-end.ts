import type { Container } from '../contract/video-facts';
import { type ElementContent, elementsIn, unsigned } from './matroska-elements';
import { boxAt, boxesIn } from './mp4-boxes';
import type { RetainedReader } from './retained-reader';

/** Where a file states that it ends, if it does. */
export interface StatedEnd {
  /** It states its end in bytes, and has that many. */
  isChecked: boolean;
  /** It states its end in bytes, and has fewer: one clause for the user. */
  problem?: string;
  /** It states its length in seconds, to be compared with its pictures. */
  seconds?: number;
}

const NOT_STATED: StatedEnd = { isChecked: false };

export function statedEnd(reader: RetainedReader, container: Container, durationSeconds?: number): StatedEnd {
  switch (container) {
    case 'mp4':
    case 'mov':
      return endOfBoxes(reader);
    case 'webm':
    case 'mkv':
      return endOfElements(reader, durationSeconds);
    case 'ts':
      return NOT_STATED;
  }
}

/** More than a frame, the sound of some frames, and what editing cuts from the beginning. */
const TOLERANCE_SECONDS = 1;
const TOLERANCE_SHARE = 0.02;

/** For a video that states its length: one clause for the user when it is shorter. */
export function describeMissingSeconds(stated: number, found: number): string | undefined {
  if (stated - found <= Math.max(TOLERANCE_SECONDS, stated * TOLERANCE_SHARE)) return undefined;
  const rounded = [stated, found].map((seconds) => Number(seconds.toFixed(2)));
  return `it says that it is ${rounded[0]} s long, but ends after ${rounded[1]} s`;
}

/** The tables of a file without fragments describe its last picture. A file of fragments may have an index or a duration. */
function endOfBoxes(reader: RetainedReader): StatedEnd {
  if (!boxAt(reader, ['moov', 'mvex'])) return { isChecked: true };
  const indexed = indexedEnd(reader);
  if (indexed !== undefined && indexed > reader.size) {
    return {
      isChecked: false,
      problem: `its sidx box lists ${indexed} bytes, but the file has ${reader.size}`,
    };
  }
  return { isChecked: indexed === reader.size, seconds: fragmentSeconds(reader) };
}

/** `mehd`: the length of all fragments together, in the units of `mvhd`. */
function fragmentSeconds(reader: RetainedReader): number | undefined {
  const [unitAt, duration] = [boxAt(reader, ['moov', 'mvhd']), boxAt(reader, ['moov', 'mvex', 'mehd'])];
  if (!unitAt || !duration) return undefined;
  // Version 1 has times of eight bytes; two of them come before the units.
  const timeBytes = (at: number) => (reader.available(at, at + 1)[0] === 1 ? 8 : 4);
  const unitsFrom = unitAt.from + 4 + 2 * timeBytes(unitAt.from);
  const units = unsigned(reader.available(unitsFrom, unitsFrom + 4));
  const length = unsigned(reader.available(duration.from + 4, duration.from + 4 + timeBytes(duration.from)));
  return units > 0 && length > 0 ? length / units : undefined;
}

const SIDX_REFERENCE_BYTES = 12;

/** `sidx` before the first fragment: the size of each fragment. */
function indexedEnd(reader: RetainedReader): number | undefined {
  for (const { type, from, to } of boxesIn(reader, 0, reader.size)) {
    if (type === 'moof') return undefined;
    if (type !== 'sidx') continue;
    const box = reader.available(from, to);
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
  return undefined;
}

const SEGMENT = 0x18538067;
const SEEK_HEAD = 0x114d9b74;
const SEEK = 0x4dbb;
const SEEK_POSITION = 0x53ac;
const CUES = 0x1c53bb6b;
const CUE_POINT = 0xbb;
const CUE_TRACK_POSITIONS = 0xb7;
const CUE_CLUSTER_POSITION = 0xf1;

/** Elements that contain a position in the Segment, at some depth. */
const CONTAINS_POSITION = new Set([SEEK_HEAD, SEEK, CUES, CUE_POINT, CUE_TRACK_POSITIONS]);
const POSITIONS = new Set([SEEK_POSITION, CUE_CLUSTER_POSITION]);

/** A Segment without a size is a live recording, whose index may still refer to bytes that it should have. */
function endOfElements(reader: RetainedReader, durationSeconds: number | undefined): StatedEnd {
  const head = reader.available(0, reader.size);
  const segment = firstElement(head, SEGMENT);
  // A Segment with a size was scanned to its end while the video came.
  if (!segment || segment.isSized) return { isChecked: segment !== undefined };
  const furthest = segment.from + furthestPosition(head, segment.from, head.length);
  if (furthest >= reader.size) {
    return {
      isChecked: false,
      problem: `its index refers to byte ${furthest}, but the file has ${reader.size} bytes`,
    };
  }
  return { isChecked: false, seconds: durationSeconds };
}

function firstElement(bytes: Buffer, id: number): ElementContent | undefined {
  for (const element of elementsIn(bytes, 0, bytes.length)) if (element.id === id) return element;
  return undefined;
}

function furthestPosition(bytes: Buffer, from: number, to: number): number {
  let furthest = 0;
  for (const element of elementsIn(bytes, from, to)) {
    const end = Math.min(element.to, to);
    if (POSITIONS.has(element.id) && end - element.from <= 8) {
      furthest = Math.max(furthest, unsigned(bytes.subarray(element.from, end)));
    } else if (CONTAINS_POSITION.has(element.id)) {
      furthest = Math.max(furthest, furthestPosition(bytes, element.from, end));
    }
  }
  return furthest;
}
