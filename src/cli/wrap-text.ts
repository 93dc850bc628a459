import { widthOf } from './display-width';

/** The text in lines of at most so many columns, broken between words where that is possible. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (widthOf(line) > columns) {
      const start = fitting(line, columns);
      lines.push(start);
      line = line.slice(start.length);
    }
  }
  return [...lines, line];
}

/** The beginning of a word that fits; at least one character. */
function fitting(word: string, columns: number): string {
  let start = '';
  for (const character of word) {
    if (start !== '' && widthOf(start + character) > columns) break;
    start += character;
  }
  return start;
}
