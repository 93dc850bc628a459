/** An element of Matroska: what it is, and where its content begins and ends. */
export interface ElementInBytes {
  id: number;
  from: number;
  to: number;
  /** Whether its head says how long it is; what does not goes to the end. */
  isSized: boolean;
}

const MOST_ID_BYTES = 4;
const MOST_SIZE_BYTES = 8;

/** The elements of some bytes, one after the other, as far as they make sense. The last may go beyond the bytes. */
export function* elementsIn(bytes: Buffer, from: number, to: number): Generator<ElementInBytes> {
  for (let at = from; at < to; ) {
    const idBytes = vintBytes(bytes[at]);
    const sizeAt = at + idBytes;
    const sizeBytes = vintBytes(bytes[sizeAt]);
    const contentAt = sizeAt + sizeBytes;
    if (idBytes > MOST_ID_BYTES || sizeBytes > MOST_SIZE_BYTES || contentAt > to) return;
    const size = vint(bytes.subarray(sizeAt, contentAt));
    const end = contentAt + (size ?? Infinity);
    yield { id: bytes.readUIntBE(at, idBytes), from: contentAt, to: end, isSized: size !== undefined };
    at = end;
  }
}

/** How many bytes a number takes, by its first: one more for each zero before the first bit that is set. */
export function vintBytes(first: number | undefined): number {
  return Math.clz32(first ?? 0) - 23;
}

/** The number after the first bit that is set; all ones are "not known". */
export function vint(bytes: Buffer): number | undefined {
  const mostInFirst = 0xff >> bytes.length;
  let value = (bytes[0] ?? 0) & mostInFirst;
  let isKnown = value !== mostInFirst;
  for (const byte of bytes.subarray(1)) {
    isKnown ||= byte !== 0xff;
    value = value * 256 + byte;
  }
  return isKnown ? value : undefined;
}

/** A number without any such mark. */
export function unsigned(bytes: Buffer): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}
