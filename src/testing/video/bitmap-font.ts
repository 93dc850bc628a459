const GLYPH_WIDTH = 5;
export const GLYPH_HEIGHT = 7;
/** Distance from one character, or line, to the next. */
export const ADVANCE = GLYPH_WIDTH + 1;
export const LINE_HEIGHT = GLYPH_HEIGHT + 3;

/** Seven rows of five dots, each row a hexadecimal number whose highest bit is the leftmost dot. */
const GLYPHS: Record<string, string> = {
  ' ': '00 00 00 00 00 00 00',
  A: '0e 11 11 1f 11 11 11',
  B: '1e 11 11 1e 11 11 1e',
  C: '0e 11 10 10 10 11 0e',
  D: '1c 12 11 11 11 12 1c',
  E: '1f 10 10 1e 10 10 1f',
  F: '1f 10 10 1e 10 10 10',
  G: '0e 11 10 17 11 11 0f',
  H: '11 11 11 1f 11 11 11',
  I: '0e 04 04 04 04 04 0e',
  J: '07 02 02 02 02 12 0c',
  K: '11 12 14 18 14 12 11',
  L: '10 10 10 10 10 10 1f',
  M: '11 1b 15 15 11 11 11',
  N: '11 11 19 15 13 11 11',
  O: '0e 11 11 11 11 11 0e',
  P: '1e 11 11 1e 10 10 10',
  Q: '0e 11 11 11 15 12 0d',
  R: '1e 11 11 1e 14 12 11',
  S: '0f 10 10 0e 01 01 1e',
  T: '1f 04 04 04 04 04 04',
  U: '11 11 11 11 11 11 0e',
  V: '11 11 11 11 11 0a 04',
  W: '11 11 11 15 15 15 0a',
  X: '11 11 0a 04 0a 11 11',
  Y: '11 11 11 0a 04 04 04',
  Z: '1f 01 02 04 08 10 1f',
  0: '0e 11 13 15 19 11 0e',
  1: '04 0c 04 04 04 04 0e',
  2: '0e 11 01 02 04 08 1f',
  3: '1f 02 04 02 01 11 0e',
  4: '02 06 0a 12 1f 02 02',
  5: '1f 10 1e 01 01 11 0e',
  6: '06 08 10 1e 11 11 0e',
  7: '1f 01 02 04 08 08 08',
  8: '0e 11 11 0e 11 11 0e',
  9: '0e 11 11 0f 01 02 0c',
  '.': '00 00 00 00 00 0c 0c',
  ',': '00 00 00 00 0c 04 08',
  ':': '00 0c 0c 00 0c 0c 00',
  ';': '00 0c 0c 00 0c 04 08',
  '!': '04 04 04 04 04 00 04',
  '?': '0e 11 01 02 04 00 04',
  "'": '0c 04 08 00 00 00 00',
  '"': '0a 0a 0a 00 00 00 00',
  '-': '00 00 00 1f 00 00 00',
  _: '00 00 00 00 00 00 1f',
  '+': '00 04 04 1f 04 04 00',
  '=': '00 00 1f 00 1f 00 00',
  '*': '00 04 15 0e 15 04 00',
  '/': '00 01 02 04 08 10 00',
  '\\': '00 10 08 04 02 01 00',
  '|': '04 04 04 04 04 04 04',
  '(': '02 04 08 08 08 04 02',
  ')': '08 04 02 02 02 04 08',
  '[': '0e 08 08 08 08 08 0e',
  ']': '0e 02 02 02 02 02 0e',
  '{': '02 04 04 08 04 04 02',
  '}': '08 04 04 02 04 04 08',
  '<': '02 04 08 10 08 04 02',
  '>': '08 04 02 01 02 04 08',
  '#': '0a 0a 1f 0a 1f 0a 0a',
  $: '04 0f 14 0e 05 1e 04',
  '%': '18 19 02 04 08 13 03',
  '&': '0c 12 14 08 15 12 0d',
  '@': '0e 11 01 0d 15 15 0e',
};

const ROWS = new Map(
  Object.entries(GLYPHS).map(([character, rows]) => [
    character,
    rows.split(' ').map((row) => Number.parseInt(row, 16)),
  ]),
);
/** Drawn for a character that the font lacks. */
const BLOCK = [0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f];

export function fontHas(character: string): boolean {
  return ROWS.has(character);
}

/** One line of text as dots. */
export class TextBitmap {
  readonly width: number;
  private readonly rows: boolean[][];

  constructor(text: string) {
    const glyphs = [...text].map((character) => ROWS.get(character) ?? BLOCK);
    this.width = Math.max(0, glyphs.length * ADVANCE - 1);
    this.rows = Array.from({ length: GLYPH_HEIGHT }, (_, row) =>
      glyphs.flatMap((glyph) => COLUMN_BITS.map((bit) => ((glyph[row] ?? 0) & bit) !== 0)),
    );
  }

  hasDot(x: number, y: number): boolean {
    return this.rows[y]?.[x] === true;
  }
}

/** Left to right; the last column is the gap to the next character. */
const COLUMN_BITS = [0x10, 0x08, 0x04, 0x02, 0x01, 0];
