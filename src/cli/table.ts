import { cutToWidth, padToWidth, widthOf } from './display-width';
import type { Colour, Piece } from './terminal';

export interface Column<Row> {
  title: string;
  text(row: Row): string;
  colour?(row: Row): Colour | undefined;
  /** A narrower one is left out, beginning with the columns of the highest `rank`. */
  leastWidth: number;
  /** Whether it may be cut to its least width; the others are shown whole or not at all. */
  canShrink?: boolean;
  /** The first column to be left out has the highest. */
  rank: number;
}

const GAP = '  ';

/** A table that fits the width: columns shrink first, then those of the highest rank are left out. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): Piece[][] {
  const cells = new Map(columns.map((column) => [column, rows.map((row) => column.text(row))]));
  const natural = new Map(
    columns.map((column) => [
      column,
      Math.max(widthOf(column.title), ...(cells.get(column) ?? []).map(widthOf)),
    ]),
  );
  const naturalOf = (column: Column<Row>) => natural.get(column) ?? 0;
  const leastOf = (column: Column<Row>) =>
    column.canShrink ? Math.min(column.leastWidth, naturalOf(column)) : naturalOf(column);
  // An empty column says nothing.
  let shown = columns.filter((column) => rows.length === 0 || cells.get(column)?.some((text) => text !== ''));
  while (shown.length > 1 && total(shown.map(leastOf)) > width) {
    const last = shown.reduce((a, b) => (b.rank > a.rank ? b : a));
    shown = shown.filter((column) => column !== last);
  }
  const widths = shrink(
    shown.map((column) => ({ natural: naturalOf(column), least: leastOf(column) })),
    width,
  );
  const line = (
    textOf: (column: Column<Row>) => string,
    colourOf: (column: Column<Row>) => Colour | undefined,
  ) =>
    shown.flatMap((column, index): Piece[] => {
      const isLast = index === shown.length - 1;
      const cut = cutToWidth(textOf(column), widths[index] ?? 0);
      const gap = isLast ? '' : `${padToWidth(cut, widths[index] ?? 0).slice(cut.length)}${GAP}`;
      return [{ text: cut, colour: colourOf(column) }, { text: gap }];
    });
  return [
    line(
      ({ title }) => title,
      () => 'bold',
    ),
    ...rows.map((row, index) =>
      line(
        (column) => cells.get(column)?.[index] ?? '',
        (column) => column.colour?.(row),
      ),
    ),
  ];
}

/** The same lines without colours. */
export function withoutColours(lines: readonly (readonly Piece[])[]): Piece[][] {
  return lines.map((pieces) => [{ text: pieces.map(({ text }) => text).join('') }]);
}

const total = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);

/** Takes columns from whichever has the most above its least width, until the line fits. */
function shrink(columns: readonly { natural: number; least: number }[], width: number): number[] {
  const widths = columns.map(({ natural }) => natural);
  const slackOf = (index: number) => (widths[index] ?? 0) - (columns[index]?.least ?? 0);
  while (total(widths) > width) {
    const widest = widths.reduce((best, _, index) => (slackOf(index) > slackOf(best) ? index : best), 0);
    if (slackOf(widest) <= 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  // One column that is wider than the screen.
  return widths.length === 1 ? [Math.min(widths[0] ?? 0, width)] : widths;
}
