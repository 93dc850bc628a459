/** First byte of a unit: how much later pictures depend on it (two bits), and what it is (five bits). */
export const UNIT = { sequenceParameters: 0x67, pictureParameters: 0x68, keySlice: 0x65, deltaSlice: 0x41 };

/**
 * A unit of an H.264 stream. Three bytes 00 00 0x within its content would read as the start of another unit, so that
 * the standard puts a byte 03 between them.
 */
export function nalUnit(header: number, content: Buffer): Buffer {
  // At worst every second byte of the content is followed by one more.
  const unit = Buffer.allocUnsafe(1 + content.length + (content.length >> 1) + 1);
  let length = 0;
  let zeros = 0;
  unit[length++] = header;
  for (const byte of content) {
    if (zeros >= 2 && byte <= 3) {
      unit[length++] = 3;
      zeros = 0;
    }
    unit[length++] = byte;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return unit.subarray(0, length);
}
