/** Boxes of an MP4 file that say when it was made, and the boxes around them. */
const DATED = new Set(['mvhd', 'tkhd', 'mdhd']);
const AROUND = new Set(['moov', 'trak', 'mdia']);
const BOX_HEAD_BYTES = 8;

/** Sets the times of creation and modification to zero, in place, so that the same pictures are the same bytes. */
export function removeDates(file: Buffer, start = 0, end = file.length): void {
  for (let box = start; box + BOX_HEAD_BYTES <= end; ) {
    const size = file.readUInt32BE(box);
    const type = file.toString('latin1', box + 4, box + 8);
    if (AROUND.has(type)) removeDates(file, box + BOX_HEAD_BYTES, box + size);
    if (DATED.has(type)) {
      const versionAt = box + BOX_HEAD_BYTES;
      // Version 1 has times of eight bytes, version 0 of four; both times follow version and flags.
      const timeBytes = file[versionAt] === 1 ? 8 : 4;
      file.fill(0, versionAt + 4, versionAt + 4 + 2 * timeBytes);
    }
    // 0 is "to the end of the file" and 1 is "longer than 4 GiB": media data, with nothing of interest after it.
    if (size < BOX_HEAD_BYTES) return;
    box += size;
  }
}
