const KEPT_LINES = 8;
const KEPT_CHARACTERS = 2_000;

/** Keeps the last lines a process printed: they say why it ended. */
export class OutputTail {
  private text = '';

  add(chunk: Buffer | string): void {
    this.text = `${this.text}${chunk.toString()}`
      .split('\n')
      .slice(-KEPT_LINES)
      .join('\n')
      .slice(-KEPT_CHARACTERS);
  }

  toString(): string {
    const lines = this.text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '').join(' | ') || '(it printed nothing)';
  }
}
