import type { Container } from '../contract/video-facts';
import { boxesIn } from './mp4-boxes';
import type { RetainedReader } from './retained-reader';

/** Boxes that contain sample tables, at any depth. */
const PARENTS = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'moof', 'traf']);
const ENTRY_BYTES = 8;
const ENTRIES_AT = 8;

/**
 * One entry of these tables stands for many samples, so a small file can state any number of them. Reading them would take
 * minutes and gigabytes. The limits of the process stop that too, but this gives the user a better reason.
 */
export function describeOversizedTable(reader: RetainedReader, container: Container): string | undefined {
  if (container !== 'mp4' && container !== 'mov') return undefined;
  const table = largestTable(reader, 0, reader.size, 0);
  if (!table || table.samples <= reader.size) return undefined;
  return `its ${table.type} box lists ${table.samples} samples, but the file has only ${reader.size} bytes`;
}

interface Table {
  type: string;
  samples: number;
}

/** Deeper than any sample table. */
const MAX_DEPTH = 8;

function largestTable(reader: RetainedReader, from: number, to: number, depth: number): Table | undefined {
  let largest: Table | undefined;
  for (const box of boxesIn(reader, from, to)) {
    const found = PARENTS.has(box.type)
      ? depth < MAX_DEPTH && largestTable(reader, box.from, box.to, depth + 1)
      : tableOf(box.type, reader.available(box.from, Math.min(box.to, box.from + 8)), () =>
          reader.available(box.from, box.to),
        );
    if (found && found.samples > (largest?.samples ?? 0)) largest = found;
  }
  return largest;
}

function tableOf(type: string, head: Buffer, content: () => Buffer): Table | undefined {
  if (head.length < ENTRIES_AT) return undefined;
  switch (type) {
    case 'stts':
    case 'ctts':
      return { type, samples: countSamples(content()) };
    case 'trun':
      return { type, samples: head.readUInt32BE(4) };
    default:
      return undefined;
  }
}

/** Each entry begins with its number of samples. */
function countSamples(table: Buffer): number {
  let samples = 0;
  for (let at = ENTRIES_AT; at + ENTRY_BYTES <= table.length; at += ENTRY_BYTES)
    samples += table.readUInt32BE(at);
  return samples;
}
