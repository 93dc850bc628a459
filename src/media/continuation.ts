import { CHROMA_BYTES, CHROMA_SIDE, LUMA_BYTES, LUMA_SIDE, MACROBLOCK_BYTES, type Picture } from './picture';

/** The three planes of a macroblock: where each begins, and how many samples a row of it has. */
const PLANES = [
  { offset: 0, side: LUMA_SIDE },
  { offset: LUMA_BYTES, side: CHROMA_SIDE },
  { offset: LUMA_BYTES + CHROMA_BYTES, side: CHROMA_SIDE },
];

/** Is the macroblock nothing but the last row of the one above, again and again? */
export function continuesAbove({ data, columns }: Picture, macroblock: number): boolean {
  if (macroblock < columns) return false;
  const here = macroblock * MACROBLOCK_BYTES;
  const above = (macroblock - columns) * MACROBLOCK_BYTES;
  return PLANES.every(({ offset, side }) => {
    const lastRow = above + offset + side * (side - 1);
    for (let sample = 0; sample < side * side; sample++) {
      if (data[here + offset + sample] !== data[lastRow + (sample % side)]) return false;
    }
    return true;
  });
}

/** Is the macroblock nothing but the last column of the one to its left, again and again? */
export function continuesLeft({ data, columns }: Picture, macroblock: number): boolean {
  if (macroblock % columns === 0) return false;
  const here = macroblock * MACROBLOCK_BYTES;
  const left = here - MACROBLOCK_BYTES;
  return PLANES.every(({ offset, side }) => {
    const lastColumn = left + offset + side - 1;
    for (let sample = 0; sample < side * side; sample++) {
      if (data[here + offset + sample] !== data[lastColumn + sample - (sample % side)]) return false;
    }
    return true;
  });
}
