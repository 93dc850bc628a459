/** Where the decoder configuration of H.264 and H.265 has the size of the length before each unit. */
const LENGTH_BYTES_AT: Record<string, number> = { avc: 4, hevc: 21 };
const DEFAULT_LENGTH_BYTES = 4;

type Bytes = ArrayBufferLike | ArrayBufferView;

const START_CODE = Buffer.of(0, 0, 1);

/**
 * Whether a picture starts like one of its codec. That is all that can be known without decoding it, and enough to reject
 * text and zeros in H.264 and H.265, and zeros in others.
 */
export function startsLikeCodec(picture: Uint8Array, codec: string | null, record?: Bytes): boolean {
  const bytes = Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength);
  if (codec === 'avc' || codec === 'hevc') return startsWithUnit(bytes, lengthBytes(codec, record));
  return bytes.subarray(0, 16).some((byte) => byte !== 0);
}

function lengthBytes(codec: string, record: Bytes | undefined): number {
  if (record === undefined) return DEFAULT_LENGTH_BYTES;
  const bytes = ArrayBuffer.isView(record)
    ? new Uint8Array(record.buffer, record.byteOffset, record.byteLength)
    : new Uint8Array(record);
  return ((bytes[LENGTH_BYTES_AT[codec] ?? 0] ?? 3) & 3) + 1;
}

/** Before a unit there is its length or a start code, and its first bit is never set. */
function startsWithUnit(bytes: Buffer, lengthBytes: number): boolean {
  const code = bytes.subarray(0, 4).indexOf(START_CODE);
  const isMarked = code === 0 || (code === 1 && bytes[0] === 0);
  if (isMarked && isUnitHead(bytes[code + START_CODE.length])) return true;
  if (bytes.length <= lengthBytes) return false;
  const length = bytes.readUIntBE(0, lengthBytes);
  return length > 0 && length <= bytes.length - lengthBytes && isUnitHead(bytes[lengthBytes]);
}

const isUnitHead = (byte: number | undefined) => byte !== undefined && byte >> 7 === 0;
