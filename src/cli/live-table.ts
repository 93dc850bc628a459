import { widthOf } from './display-width';
import { withoutColours } from './table';
import { type Piece, type Terminal, usesColours } from './terminal';

const CLEAR_LINE = '\u001b[2K';
const CLEAR_BELOW = '\u001b[J';

/** Lines at the end of the screen of standard output that are drawn again and again. */
export class LiveTable {
  /** The widths of the lines that are on the screen. */
  private drawn: number[] = [];

  constructor(private readonly terminal: Terminal) {}

  draw(lines: readonly (readonly Piece[])[]): void {
    const { terminal } = this;
    const rows = terminal.outScreen()?.rows ?? 0;
    // What has scrolled off the screen could not be drawn again.
    const visible = lines.slice(0, Math.max(1, rows - 1));
    const up = this.rowsUp();
    terminal.outControl(up > 0 ? `\u001b[${up}A\r` : '\r');
    for (const line of usesColours(terminal) ? visible : withoutColours(visible)) {
      terminal.outControl(CLEAR_LINE);
      terminal.outLine(line);
    }
    terminal.outControl(CLEAR_BELOW);
    this.drawn = visible.map((pieces) => pieces.reduce((sum, { text }) => sum + widthOf(text), 0));
  }

  /** Makes room for other lines; the next `draw` comes below them. */
  clear(): void {
    const up = this.rowsUp();
    if (up > 0) this.terminal.outControl(`\u001b[${up}A\r${CLEAR_BELOW}`);
    this.drawn = [];
  }

  /** Terminals that have become narrower have wrapped the lines. */
  private rowsUp(): number {
    const columns = this.terminal.outScreen()?.columns ?? 1;
    return this.drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
  }
}
