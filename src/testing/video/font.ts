const CHARACTERS = ' ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?\'"-_+=*/\\|()[]{}<>#$%&@';

/** The dots of each character, from top to bottom: seven rows, each a digit to the base 32 of five bits. */
const DOTS =
  '0000000ehhvhhhuhhuhhuehggghesihhhisvgguggvvggugggehgnhhfhhhvhhhe44444e72222ichikokihggggggvhrllhhh' +
  'hhpljhhehhhhheuhhugggehhhliduhhukihfgge11uv444444hhhhhhehhhhha4hhhlllahha4ahhhhha444v1248gvehjlphe' +
  '4c4444eeh1248vv2421he26aiv22vgu11he68guhhev124888ehhehheehhf12c00000cc0000c480cc0cc00cc0c484444404' +
  'eh12404c480000aaa0000000v000000000v044v44000v0v0004lel4001248g00g84210444444424888428422248e88888e' +
  'e22222e24484428442448248g8428421248aavavaa4fke5u4op248j3cik8lideh1dlle';

const GLYPH_WIDTH = 5;
const GLYPH_HEIGHT = 7;
/** Distance from one character, or line, to the next. */
export const ADVANCE = GLYPH_WIDTH + 1;
export const LINE_HEIGHT = GLYPH_HEIGHT + 3;

const FULL_ROW = 0b11111;
const ROWS = Array.from(DOTS, (digit) => Number.parseInt(digit, 32));

/** Whether one line of text has a dot there. A character that the font lacks is a block. */
export function hasDot(text: string, x: number, y: number): boolean {
  const character = text[Math.floor(x / ADVANCE)];
  const column = x % ADVANCE;
  if (character === undefined || x < 0 || y < 0 || y >= GLYPH_HEIGHT || column === GLYPH_WIDTH) return false;
  const index = CHARACTERS.indexOf(character);
  const row = index < 0 ? FULL_ROW : (ROWS[index * GLYPH_HEIGHT + y] ?? 0);
  return ((row >> (GLYPH_WIDTH - 1 - column)) & 1) === 1;
}

/** Enough UTF-16 units per shown character, even if most of them are dropped. */
const UNITS_PER_CHARACTER = 8;
const ELLIPSIS = '...';

/** The start of a text in the characters of the font, wrapped into lines. An ellipsis marks what is left out. */
export function wrapCaption(text: string, columns: number, lines: number): string[] {
  const start = text.trim().slice(0, columns * lines * UNITS_PER_CHARACTER);
  const words = toFontCharacters(start).match(new RegExp(`[^ ]{1,${columns}}`, 'g')) ?? [];
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

/** Upper case, without accents and invisible characters, one UTF-16 unit per character. */
function toFontCharacters(text: string): string {
  const simple = text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[\s\p{C}]+/gu, ' ')
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[‐-―]/g, '-')
    .toUpperCase();
  return [...simple].map((character) => (CHARACTERS.includes(character) ? character : '█')).join('');
}
