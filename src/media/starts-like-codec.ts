/** Where the decoder configuration of H.264 and H.265 has the size of the length before each unit. */
const LENGTH_BYTES_AT: Record<string, number> = { avc: 4, hevc: 21 };
const DEFAULT_LENGTH_BYTES = 4;

type Bytes = ArrayBufferLike | ArrayBufferView;

const START_CODE = Buffer.of(0, 0, 1);
const VP8_KEY_FRAME = Buffer.of(0x9d, 0x01, 0x2a);
const PRORES_FRAME = Buffer.from('icpf', 'latin1');

/**
 * Whether a picture starts like one of its codec. That is all that can be known without decoding it, and enough to reject
 * text and zeros. Pictures of other codecs may start with anything.
 */
export function startsLikeCodec(picture: Uint8Array, codec: string | null, record?: Bytes): boolean {
  const bytes = Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength);
  if (bytes.length === 0) return false;
  switch (codec) {
    case 'avc':
    case 'hevc':
      return startsWithUnit(bytes, lengthBytes(codec, record));
    case 'vp8':
      // The lowest bit is 0 in a key frame, which then has a start code.
      return ((bytes[0] ?? 0) & 1) === 1 || bytes.subarray(3, 6).equals(VP8_KEY_FRAME);
    case 'vp9':
      return (bytes[0] ?? 0) >> 6 === 0b10;
    case 'av1':
      // The highest bit is forbidden; a temporal delimiter, headers and frames have these types.
      return (bytes[0] ?? 0) >> 7 === 0 && isObuType(((bytes[0] ?? 0) >> 3) & 0xf);
    case 'prores':
      return bytes.subarray(4, 8).equals(PRORES_FRAME);
    default:
      return true;
  }
}

const isObuType = (type: number) => (type >= 1 && type <= 8) || type === 15;

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
