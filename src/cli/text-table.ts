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

export function oneLine(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

export interface Column<Row> {
  title: string;
  text(row: Row): string;
}

/** A long text must not push the columns after it off the screen. */
const WIDEST_CELL = 48;

/** A table whose lines are cut to the width. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): string[] {
  const lines = [undefined, ...rows].map(() => '');
  for (const { title, text } of columns) {
    const cells = rows.map((row) => cutToWidth(oneLine(text(row)), WIDEST_CELL));
    // An empty column says nothing.
    if (rows.length > 0 && cells.every((cell) => cell === '')) continue;
    const columnWidth = Math.max(...[title, ...cells].map(widthOf));
    [title, ...cells].forEach((cell, index) => {
      lines[index] += `${cell}${' '.repeat(columnWidth - widthOf(cell))}  `;
    });
  }
  return lines.map((line) => cutToWidth(line.trimEnd(), width));
}
