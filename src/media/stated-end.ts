import type { Container } from '../contract/video-facts';
import { boxAt, boxesIn } from './boxes-in';
import { type ElementInBytes, elementsIn, unsigned } from './elements-in';
import type { KeptReader } from './kept-reader';

/** Where a file says that it ends, as far as it does. */
export interface StatedEnd {
  /** It says so in bytes, and has as many. */
  isChecked: boolean;
  /** It says so in bytes, and has fewer: one clause, for people. */
  problem?: string;
  /** It says so in seconds, which are to be compared with what is in it. */
  seconds?: number;
}

const NOT_STATED: StatedEnd = { isChecked: false };

export function statedEnd(kept: KeptReader, container: Container, durationSeconds?: number): StatedEnd {
  switch (container) {
    case 'mp4':
    case 'mov':
      return endOfBoxes(kept);
    case 'webm':
    case 'mkv':
      return endOfElements(kept, durationSeconds);
    case 'ts':
      return NOT_STATED;
  }
}

/** A frame, the sound of some frames, and what editing takes off the beginning make less than this. */
const TOLERANCE_SECONDS = 1;
const TOLERANCE_SHARE = 0.02;

/** What is missing of a video that says how long it is; one clause, for people. */
export function describeMissingSeconds(stated: number, found: number): string | undefined {
  if (stated - found <= Math.max(TOLERANCE_SECONDS, stated * TOLERANCE_SHARE)) return undefined;
  const rounded = [stated, found].map((seconds) => Number(seconds.toFixed(2)));
  return `it says that it is ${rounded[0]} s long, and ends after ${rounded[1]} s`;
}

/** The tables of a file that is in one piece tell of its last picture. A file of fragments may have an index or a duration. */
function endOfBoxes(kept: KeptReader): StatedEnd {
  if (!boxAt(kept, ['moov', 'mvex'])) return { isChecked: true };
  const indexed = indexedEnd(kept);
  if (indexed !== undefined && indexed > kept.size) {
    return { isChecked: false, problem: `its sidx box tells of ${indexed} bytes, and it has ${kept.size}` };
  }
  return { isChecked: indexed === kept.size, seconds: fragmentSeconds(kept) };
}

/** `mehd`: how long all fragments are together, in the units of `mvhd`. */
function fragmentSeconds(kept: KeptReader): number | undefined {
  const [unitAt, duration] = [boxAt(kept, ['moov', 'mvhd']), boxAt(kept, ['moov', 'mvex', 'mehd'])];
  if (!unitAt || !duration) return undefined;
  // Version 1 has times of eight bytes; two of them stand before the units.
  const timeBytes = (at: number) => (kept.seen(at, at + 1)[0] === 1 ? 8 : 4);
  const unitsFrom = unitAt.from + 4 + 2 * timeBytes(unitAt.from);
  const units = unsigned(kept.seen(unitsFrom, unitsFrom + 4));
  const length = unsigned(kept.seen(duration.from + 4, duration.from + 4 + timeBytes(duration.from)));
  return units > 0 && length > 0 ? length / units : undefined;
}

const SIDX_REFERENCE_BYTES = 12;

/** `sidx` before the first fragment: how many bytes each of the fragments has that it tells of. */
function indexedEnd(kept: KeptReader): number | undefined {
  for (const { type, from, to } of boxesIn(kept, 0, kept.size)) {
    if (type === 'moof') return undefined;
    if (type !== 'sidx') continue;
    const box = kept.seen(from, to);
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

/** Which elements lead to one that says where in the Segment something is. */
const LEADS_TO_POSITION = new Set([SEEK_HEAD, SEEK, CUES, CUE_POINT, CUE_TRACK_POSITIONS]);
const POSITIONS = new Set([SEEK_POSITION, CUE_CLUSTER_POSITION]);

/** A Segment has a size, or is of a live recording; that may still tell of places that it should have. */
function endOfElements(kept: KeptReader, durationSeconds: number | undefined): StatedEnd {
  const head = kept.seen(0, kept.size);
  const segment = firstElement(head, SEGMENT);
  // One that has a size was walked to its end while it passed.
  if (!segment || segment.isSized) return { isChecked: segment !== undefined };
  const furthest = segment.from + furthestPosition(head, segment.from, head.length);
  if (furthest >= kept.size) {
    return { isChecked: false, problem: `its index tells of byte ${furthest}, and it has ${kept.size}` };
  }
  return { isChecked: false, seconds: durationSeconds };
}

function firstElement(bytes: Buffer, id: number): ElementInBytes | undefined {
  for (const element of elementsIn(bytes, 0, bytes.length)) if (element.id === id) return element;
  return undefined;
}

function furthestPosition(bytes: Buffer, from: number, to: number): number {
  let furthest = 0;
  for (const element of elementsIn(bytes, from, to)) {
    const end = Math.min(element.to, to);
    if (POSITIONS.has(element.id) && end - element.from <= 8) {
      furthest = Math.max(furthest, unsigned(bytes.subarray(element.from, end)));
    } else if (LEADS_TO_POSITION.has(element.id)) {
      furthest = Math.max(furthest, furthestPosition(bytes, element.from, end));
    }
  }
  return furthest;
}
