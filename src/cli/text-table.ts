import { oneLine } from '../contract/clean-text';

/** Combining marks and the like take no column of their own; pictures, East Asian letters and full-width signs take two. */
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/gu;
const WIDE =
  /[\p{Emoji_Presentation}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\uff01-\uff60\uffe0-\uffe6]/gu;

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  return [...text.replace(NO_WIDTH, '').replace(WIDE, '  ')].length;
}

export interface Column<Row> {
  title: string;
  text(row: Row): string;
}

/** A longer text shifts the rest of its own line, and of no other. */
const WIDEST_COLUMN = 48;

/** A table. Nothing is cut: the terminal wraps what does not fit. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const lines = [undefined, ...rows].map(() => '');
  for (const { title, text } of columns) {
    const cells = rows.map((row) => oneLine(text(row)));
    // An empty column says nothing.
    if (cells.every((cell) => cell === '')) continue;
    const width = Math.min(WIDEST_COLUMN, Math.max(...[title, ...cells].map(widthOf)));
    [title, ...cells].forEach((cell, index) => {
      lines[index] += `${cell}${' '.repeat(Math.max(0, width - widthOf(cell)))}  `;
    });
  }
  return lines.map((line) => line.trimEnd());
}
