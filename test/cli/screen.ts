/** `ESC [ count letter`, such as `ESC [ ? 7 l`, or a character. */
const PIECE = /\p{Cc}\[\??(\d*)([A-Zhl])|./gsu;

/** The lines on the screen after this output, including scrolled ones, without empty lines at the end. */
export function screenOf(written: string, columns: number): string[] {
  const lines: string[] = [''];
  let row = 0;
  let column = 0;
  let wraps = true;
  const down = () => {
    row += 1;
    column = 0;
    if (row === lines.length) lines.push('');
  };
  const cut = () => {
    lines[row] = lines[row]?.slice(0, column) ?? '';
  };
  const commands: Record<string, (count: number) => void> = {
    A: (count) => {
      if (count > row) throw new Error(`moved up by ${count} lines in line ${row}`);
      row -= count;
    },
    K: cut,
    l: () => {
      wraps = false;
    },
    h: () => {
      wraps = true;
    },
    J: () => {
      cut();
      lines.length = row + 1;
    },
  };
  for (const [piece, count, command] of written.matchAll(PIECE)) {
    if (command !== undefined) commands[command]?.(Number(count || 1));
    else if (piece === '\n') down();
    else if (piece === '\r') column = 0;
    else {
      // Like most terminals, wrap when a character does not fit.
      if (column === columns && wraps) down();
      if (column === columns) column -= 1;
      const line = lines[row] ?? '';
      lines[row] = line.slice(0, column).padEnd(column) + piece + line.slice(column + 1);
      column += 1;
    }
  }
  while (lines.at(-1) === '') lines.pop();
  return lines;
}
