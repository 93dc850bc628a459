import type { ImageExtension } from './image-reference';

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const JPEG_START = Buffer.from([0xff, 0xd8, 0xff]);
const JPEG_END = Buffer.from([0xff, 0xd9]);
const JPEG_SCAN = 0xda;
const GIF_END = 0x3b;

/** From the first byte to the last: a file that was cut off is no image. */
const CHECKS: readonly [ImageExtension, (bytes: Buffer) => boolean][] = [
  ['png', isPng],
  ['jpg', isJpeg],
  ['webp', isWebp],
  ['gif', isGif],
];

/** The kind of a complete image, by its bytes alone: names and content types can lie. Undefined for anything else. */
export function imageTypeOf(bytes: Buffer): ImageExtension | undefined {
  return CHECKS.find(([, isOfThisType]) => isOfThisType(bytes))?.[0];
}

/** The chunks must lead from IHDR, with a width and a height, to IEND. */
function isPng(bytes: Buffer): boolean {
  if (!startsWith(bytes, PNG_SIGNATURE) || bytes.length < 33) return false;
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return false;
  if (bytes.readUInt32BE(16) === 0 || bytes.readUInt32BE(20) === 0) return false;
  // A chunk is its length, its name, its data and a checksum.
  for (let at = PNG_SIGNATURE.length; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    if (bytes.toString('latin1', at + 4, at + 8) === 'IEND') return true;
  }
  return false;
}

/** The segments must lead to a scan, and an end must follow. */
function isJpeg(bytes: Buffer): boolean {
  if (!startsWith(bytes, JPEG_START)) return false;
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1];
    if (marker === JPEG_SCAN) return bytes.lastIndexOf(JPEG_END) > at;
    // Fill bytes may stand before a marker.
    at += marker === 0xff ? 1 : 2 + Math.max(bytes.readUInt16BE(at + 2), 2);
  }
  return false;
}

/** The header has the size of the file. */
function isWebp(bytes: Buffer): boolean {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF') return false;
  if (!/WEBPVP8[ LX]/.test(bytes.toString('latin1', 8, 16))) return false;
  const size = bytes.readUInt32LE(4);
  return size > 12 && size + 8 <= bytes.length;
}

function isGif(bytes: Buffer): boolean {
  if (bytes.length < 14 || !/GIF8[79]a/.test(bytes.toString('latin1', 0, 6))) return false;
  const [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  return width > 0 && height > 0 && bytes.lastIndexOf(GIF_END) > 12;
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}
