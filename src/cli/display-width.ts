/** Combining marks and the like, which take no column of their own. */
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Characters that are drawn as pictures take two columns. */
const PICTURE = /\p{Emoji_Presentation}/u;

/** Ranges of characters that Unicode calls wide or full-width (EastAsianWidth.txt, W and F), beside pictures. */
// biome-ignore format: a table
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f], [0x2329, 0x232a], [0x2e80, 0x303e], [0x3041, 0x33ff], [0x3400, 0x4dbf], [0x4e00, 0x9fff],
  [0xa000, 0xa4cf], [0xa960, 0xa97f], [0xac00, 0xd7a3], [0xf900, 0xfaff], [0xfe10, 0xfe19], [0xfe30, 0xfe6f],
  [0xff01, 0xff60], [0xffe0, 0xffe6], [0x16fe0, 0x18dff], [0x1aff0, 0x1b2ff], [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];
/** With it, the character before is drawn as a picture, at least on some terminals. */
const AS_PICTURE = '\ufe0f';

/** How many columns of a terminal a text takes. Where terminals differ, the wider: a line must not wrap. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

/** The text in at most so many columns; a cut text ends with `…`, unless another end is given. */
export function cutToWidth(text: string, columns: number, end: '…' | '' = '…'): string {
  if (columns <= 0) return '';
  if (widthOf(text) <= columns) return text;
  let cut = '';
  let left = columns - end.length;
  for (const character of text) {
    left -= widthOfCharacter(character);
    if (left < 0) break;
    cut += character;
  }
  return `${cut}${end}`;
}

/** The text with spaces behind it, up to so many columns. */
export function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

function widthOfCharacter(character: string): number {
  if (character === AS_PICTURE) return 1;
  if (NO_WIDTH.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  // Most texts are ASCII.
  if (code < 0x1100) return 1;
  return PICTURE.test(character) || WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
