import { printable } from '../contract/clean-text';

/** Combining marks and the like, which take no column of their own. */
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Pictures, East Asian letters and full-width signs take two columns. */
const WIDE =
  /[\p{Emoji_Presentation}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\uff01-\uff60\uffe0-\uffe6]/u;
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
  return WIDE.test(character) ? 2 : 1;
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

/** A column of a table. If the screen is too narrow, the last columns are left out. */
export interface Column<Row> {
  title: string;
  text(row: Row): string;
  /** It may be cut to this width; a column without it is shown whole or not at all. */
  leastWidth?: number;
}

const GAP = '  ';

/** A table that fits the width: columns are cut first, then the last ones are left out. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): string[] {
  const shown = columns.flatMap(({ title, text, leastWidth }) => {
    const cells = rows.map((row) => printable(text(row)).replaceAll('\n', ' '));
    // An empty column says nothing.
    if (rows.length > 0 && cells.every((cell) => cell === '')) return [];
    const natural = Math.max(...[title, ...cells].map(widthOf));
    return { cells: [title, ...cells], width: natural, least: Math.min(leastWidth ?? natural, natural) };
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
        const cell = cutToWidth(column.cells[index] ?? '', column.width);
        return column === shown.at(-1) ? cell : cell + ' '.repeat(column.width - widthOf(cell)) + GAP;
      })
      .join(''),
  );
}
