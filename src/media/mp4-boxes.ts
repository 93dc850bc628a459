import type { FileBytes, Outline } from './file-bytes';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** Instead of a size: the size follows the type, in eight bytes. */
const SIZE_FOLLOWS = 1;
/** Instead of a size: the box reaches the end of the file. */
const TO_THE_END = 0;
/** Four printable characters; QuickTime has types with a ©. */
const TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** Reads the outermost boxes of an MP4 or QuickTime file. */
export function outlineOfBoxes(file: FileBytes): Outline {
  const found = { moov: false, mdat: false, moof: false };
  let last = '';
  for (let at = 0; at < file.size; ) {
    const header = file.read(at, at + LONG_HEADER_BYTES);
    const shortSize = header.length < SHORT_HEADER_BYTES ? SIZE_FOLLOWS : header.readUInt32BE(0);
    const isLong = shortSize === SIZE_FOLLOWS;
    const headerBytes = isLong ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
    if (header.length < headerBytes) return { problem: 'it ends within the header of a box' };
    const stated = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
    const size = stated === TO_THE_END ? file.size - at : stated;
    const type = header.toString('latin1', 4, 8);
    // After the boxes there may be padding or a note of a tool, which players ignore.
    if (!TYPE.test(type) || size < headerBytes) break;
    if (at + size > file.size)
      return { problem: `it ends within its ${type} box: ${file.size - at} of ${size} bytes` };
    if (Object.hasOwn(found, type)) Object.assign(found, { [type]: true });
    last = type;
    at += size;
  }
  if (!found.moov) return { problem: 'its moov box is missing' };
  if (!found.mdat) return { problem: 'its mdat box is missing' };
  // The tables of a file without fragments describe its last picture. Fragments may be followed by their index.
  return { isEndChecked: !found.moof || last === 'mfra' };
}
