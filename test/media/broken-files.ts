import * as fc from 'fast-check';
import { FORMS, type Form, isForm } from './make-video';

/** One change to a file. Positions count from an end and wrap around, so that a change fits every file. */
type Change =
  | { kind: 'flip'; position: Position; mask: number }
  | { kind: 'number'; position: Position; value: number; bytes: 1 | 2 | 4 }
  | { kind: 'cut'; share: number }
  | { kind: 'remove'; position: Position; bytes: number };

interface Position {
  from: 'begin' | 'end';
  bytes: number;
}

export interface BrokenFile {
  form: Form;
  changes: Change[];
}

/** Most tables are near an end. */
const TABLE_BYTES = 1_600;
/** Counts and lengths that readers often handle badly. */
const NUMBERS = [0, 1, 2, 7, 8, 0x7f, 0xff, 0xffff, 0x10000, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff];

const position: fc.Arbitrary<Position> = fc.record({
  from: fc.constantFrom('begin' as const, 'end' as const),
  bytes: fc.oneof({ weight: 6, arbitrary: fc.nat(TABLE_BYTES) }, { weight: 1, arbitrary: fc.nat(100_000) }),
});

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('flip' as const),
      position,
      mask: fc.integer({ min: 1, max: 255 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('number' as const),
      position,
      value: fc.oneof(fc.constantFrom(...NUMBERS), fc.nat(0xffff)),
      bytes: fc.constantFrom(1 as const, 2 as const, 4 as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('cut' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), position, bytes: fc.nat(400) }) },
);

export const brokenFile: fc.Arbitrary<BrokenFile> = fc.record({
  form: fc.constantFrom(...Object.keys(FORMS).filter(isForm)),
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
});

/** The file with its changes. */
export function breakFile(whole: Buffer, changes: Change[]): Buffer {
  return changes.reduce(applyTo, Buffer.from(whole));
}

function applyTo(file: Buffer, change: Change): Buffer {
  switch (change.kind) {
    case 'cut':
      return file.subarray(0, Math.floor(file.length * change.share));
    case 'flip': {
      const at = positionIn(file, change.position);
      file[at] = (file[at] ?? 0) ^ change.mask;
      return file;
    }
    case 'number': {
      const at = Math.min(positionIn(file, change.position), file.length - change.bytes);
      if (at >= 0) file.writeUIntBE(change.value % 256 ** change.bytes, at, change.bytes);
      return file;
    }
    case 'remove': {
      const at = positionIn(file, change.position);
      return Buffer.concat([file.subarray(0, at), file.subarray(at + change.bytes)]);
    }
  }
}

function positionIn({ length }: Buffer, { from, bytes }: Position): number {
  const at = bytes % Math.max(1, length);
  return from === 'begin' ? at : Math.max(0, length - 1 - at);
}
