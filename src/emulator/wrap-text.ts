import { fontHas } from './bitmap-font';

/** Longer than what is shown, even of a text in which most characters are dropped. */
const UNITS_A_CHARACTER = 8;
/** In place of a character that the font does not have: nothing that it has itself. */
const UNKNOWN = '\u2588';
const ELLIPSIS = '...';

/** The first words of a text, in the letters of the font, cut into lines; dots tell that there is more. */
export function wrapText(text: string, columns: number, lines: number): string[] {
  const start = text.trim().slice(0, columns * lines * UNITS_A_CHARACTER);
  const words = inLettersOfTheFont(start).match(new RegExp(`[^ ]{1,${columns}}`, 'g')) ?? [];
  const wrapped: string[] = [];
  for (const word of words) {
    const longer = `${wrapped.at(-1)} ${word}`;
    if (wrapped.length > 0 && longer.length <= columns) wrapped[wrapped.length - 1] = longer;
    else wrapped.push(word);
  }
  const shown = wrapped.slice(0, lines);
  if (wrapped.length > lines) shown.push(shown.pop()?.slice(0, columns - ELLIPSIS.length) + ELLIPSIS);
  return shown;
}

/** Upper case without accents and without what cannot be seen, one UTF-16 unit a character. */
function inLettersOfTheFont(text: string): string {
  const simple = text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[\s\p{C}]+/gu, ' ')
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[‐-―]/g, '-')
    .toUpperCase();
  return [...simple].map((character) => (fontHas(character) ? character : UNKNOWN)).join('');
}
