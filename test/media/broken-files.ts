import * as fc from 'fast-check';
import { FORMS, type Form, isForm } from './make-video';

/** One change to a file; places are shares of it, so that a change fits every file. */
type Change =
  | { kind: 'flip'; place: Place; mask: number }
  | { kind: 'number'; place: Place; value: number; bytes: 1 | 2 | 4 }
  | { kind: 'cut'; share: number }
  | { kind: 'erase'; place: Place; bytes: number }
  | { kind: 'remove'; place: Place; bytes: number };

/** Where tables are more often than not, or anywhere. */
type Place = { from: 'begin' | 'end'; bytes: number } | { from: 'any'; share: number };

export interface BrokenFile {
  form: Form;
  changes: Change[];
}

const TABLE_BYTES = 1_600;
/** Counts and lengths at which readers stumble. */
const NUMBERS = [0, 1, 2, 7, 8, 0x7f, 0xff, 0xffff, 0x10000, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff];

const place: fc.Arbitrary<Place> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ from: fc.constant('begin' as const), bytes: fc.nat(TABLE_BYTES) }) },
  { weight: 3, arbitrary: fc.record({ from: fc.constant('end' as const), bytes: fc.nat(TABLE_BYTES) }) },
  { weight: 1, arbitrary: fc.record({ from: fc.constant('any' as const), share: share() }) },
);

function share(): fc.Arbitrary<number> {
  return fc.double({ min: 0, max: 1, noNaN: true });
}

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('flip' as const),
      place,
      mask: fc.integer({ min: 1, max: 255 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('number' as const),
      place,
      value: fc.oneof(fc.constantFrom(...NUMBERS), fc.nat(0xffff)),
      bytes: fc.constantFrom(1 as const, 2 as const, 4 as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), share: share() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), place, bytes: fc.nat(4_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), place, bytes: fc.nat(400) }) },
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
      const at = placeIn(file, change.place);
      file[at] = (file[at] ?? 0) ^ change.mask;
      return file;
    }
    case 'number': {
      // Tables have their numbers at multiples of nothing in particular, as boxes have names of four letters.
      const at = Math.min(placeIn(file, change.place), file.length - change.bytes);
      if (at >= 0) file.writeUIntBE(change.value % 256 ** change.bytes, at, change.bytes);
      return file;
    }
    case 'erase': {
      const at = placeIn(file, change.place);
      return file.fill(0, at, Math.min(at + change.bytes, file.length));
    }
    case 'remove': {
      const at = placeIn(file, change.place);
      return Buffer.concat([file.subarray(0, at), file.subarray(at + change.bytes)]);
    }
  }
}

function placeIn({ length }: Buffer, place: Place): number {
  const last = Math.max(0, length - 1);
  switch (place.from) {
    case 'begin':
      return Math.min(place.bytes, last);
    case 'end':
      return Math.max(0, last - place.bytes);
    case 'any':
      return Math.floor(place.share * last);
  }
}
