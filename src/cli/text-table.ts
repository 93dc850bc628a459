import { printable } from '../contract/clean-text';

/** Combining marks and the like, which take no column of their own. */
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Characters that are drawn as pictures take two columns. */
const PICTURE = /\p{Emoji_Presentation}/u;

/** Ranges of characters that Unicode calls wide or full-width (EastAsianWidth.txt, W and F), without pictures. */
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

function widthOfCharacter(character: string): number {
  if (character === AS_PICTURE) return 1;
  if (NO_WIDTH.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  // Most texts are ASCII.
  if (code < 0x1100) return 1;
  return PICTURE.test(character) || WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** The text in at most this many columns; a cut text ends with `…`. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return '';
  if (widthOf(text) <= columns) return text;
  let cut = '';
  let left = columns - 1;
  for (const character of text) {
    left -= widthOfCharacter(character);
    if (left < 0) break;
    cut += character;
  }
  return `${cut}…`;
}

/** The text in lines that are broken between words. The terminal breaks a word that is longer than a line. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

const COLOURS = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 };
export type Colour = keyof typeof COLOURS;

/** A column of a table. If the screen is too narrow, the last columns are left out. */
export interface Column<Row> {
  title: string;
  text(row: Row): string;
  colour?(row: Row): Colour | undefined;
  /** It may be cut to this width; a column without it is shown whole or not at all. */
  leastWidth?: number;
}

/** Where a table goes. */
interface TableScreen {
  columns: number;
  hasColours?: boolean;
}

const GAP = '  ';

/** A table that fits the width: columns are cut first, then the last ones are left out. It has no control characters but colours. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { columns: width, hasColours = false }: TableScreen,
): string[] {
  const shown = columns.flatMap(({ title, text, colour, leastWidth }) => {
    const cells = rows.map((row) => ({
      text: printable(text(row)).replaceAll('\n', ' '),
      colour: colour?.(row),
    }));
    // An empty column says nothing.
    if (rows.length > 0 && cells.every((cell) => cell.text === '')) return [];
    const natural = Math.max(widthOf(title), ...cells.map((cell) => widthOf(cell.text)));
    const least = Math.min(leastWidth ?? natural, natural);
    return { cells: [{ text: title, colour: 'bold' as const }, ...cells], width: natural, least };
  });
  const total = (key: 'width' | 'least') =>
    shown.reduce((sum, column) => sum + column[key] + GAP.length, -GAP.length);
  while (shown.length > 1 && total('least') > width) shown.pop();
  while (total('width') > width) {
    const widest = shown.reduce((a, b) => (b.width - b.least > a.width - a.least ? b : a));
    // A single column may be wider than the screen.
    if (widest.width <= widest.least && shown.length > 1) break;
    widest.width -= 1;
  }
  return [undefined, ...rows].map((_, index) =>
    shown
      .map((column) => {
        const { text = '', colour } = column.cells[index] ?? {};
        const cut = cutToWidth(text, column.width);
        const padding = column === shown.at(-1) ? '' : ' '.repeat(column.width - widthOf(cut)) + GAP;
        const isPlain = !hasColours || colour === undefined || cut === '';
        return (isPlain ? cut : `\u001b[${COLOURS[colour]}m${cut}\u001b[0m`) + padding;
      })
      .join(''),
  );
}
