import type { Container } from '../contract/video-facts';
import { boxesIn } from './boxes-in';
import type { KeptReader } from './kept-reader';

/** Boxes in which tables of samples are, at any depth. */
const AROUND = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'moof', 'traf']);
const ENTRY_BYTES = 8;
const ENTRIES_AT = 8;

/**
 * What is wrong with tables that a small file can make as long as it likes, because one entry stands for many samples:
 * one clause, for people. Reading them would take minutes and gigabytes, which end it too, but with fewer words.
 */
export function describeTables(kept: KeptReader, container: Container): string | undefined {
  if (container !== 'mp4' && container !== 'mov') return undefined;
  const table = largestTable(kept, 0, kept.size, 0);
  if (!table || table.samples <= kept.size) return undefined;
  return `its ${table.type} box tells of ${table.samples} samples, and it has ${kept.size} bytes`;
}

interface Table {
  type: string;
  samples: number;
}

/** Deeper than the tables of samples are. */
const MOST_DEPTH = 8;

function largestTable(kept: KeptReader, from: number, to: number, depth: number): Table | undefined {
  let largest: Table | undefined;
  for (const box of boxesIn(kept, from, to)) {
    const found = AROUND.has(box.type)
      ? depth < MOST_DEPTH && largestTable(kept, box.from, box.to, depth + 1)
      : tableOf(box.type, kept.seen(box.from, Math.min(box.to, box.from + 8)), () =>
          kept.seen(box.from, box.to),
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
      return { type, samples: countsIn(content()) };
    case 'trun':
      return { type, samples: head.readUInt32BE(4) };
    default:
      return undefined;
  }
}

/** Each entry begins with how many samples it is about. */
function countsIn(table: Buffer): number {
  let samples = 0;
  for (let at = ENTRIES_AT; at + ENTRY_BYTES <= table.length; at += ENTRY_BYTES)
    samples += table.readUInt32BE(at);
  return samples;
}
