const TAIL_LINES = 8;
const TAIL_CHARACTERS = 2_000;

/** The last lines that a process printed. They usually say why it ended. */
export class OutputTail {
  private text = '';

  add(chunk: Buffer | string): void {
    this.text = `${this.text}${chunk.toString()}`
      .split('\n')
      .slice(-TAIL_LINES)
      .join('\n')
      .slice(-TAIL_CHARACTERS);
  }

  toString(): string {
    const lines = this.text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '').join(' | ') || '(it printed nothing)';
  }
}
