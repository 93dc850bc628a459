import { ADVANCE, fontHas, GLYPH_HEIGHT, TextBitmap } from './bitmap-font';
import type { Box, Layer, Shape } from './layer';
import type { Colour } from './picture';

/** Read once: in Jest's sandbox, access to a global costs more than the rest of a sample. */
const { floor } = Math;

/** A rectangle of one colour. */
export function bar(box: Box, colour: Colour): Shape {
  const { left, top, right, bottom } = box;
  return {
    box,
    colourAt: (x, y, below) => (x >= left && x < right && y >= top && y < bottom ? colour : below),
  };
}

export interface CaptionStyle {
  left: number;
  top: number;
  /** Width and height of one dot of the font, in samples. */
  dot: number;
  colour: Colour;
  /** Drawn below and to the right of each dot, so that the text is readable on any background. */
  shadow?: Colour;
}

/** One line of text. */
export function caption(text: string, { left, top, dot, colour, shadow }: CaptionStyle): Shape {
  const bitmap = new TextBitmap(text);
  const shift = shadow === undefined ? 0 : Math.ceil(dot / 2.5);
  const hasDotAt = (x: number, y: number) => bitmap.hasDot(floor((x - left) / dot), floor((y - top) / dot));
  return {
    box: {
      left,
      top,
      right: left + bitmap.width * dot + shift,
      bottom: top + GLYPH_HEIGHT * dot + shift,
    },
    colourAt: (x, y, below) => {
      if (hasDotAt(x, y)) return colour;
      return shadow !== undefined && hasDotAt(x - shift, y - shift) ? shadow : below;
    },
  };
}

/** A text that changes from frame to frame and keeps its length. Each character is a layer, since most stay the same. */
export function changingCaption(text: (frame: number) => string, style: CaptionStyle): Layer[] {
  return [...text(0)].map((_, index) => {
    const left = style.left + index * ADVANCE * style.dot;
    const shapes = new Map<string, Shape>();
    return (frame) => {
      const character = text(frame).charAt(index);
      const shape = shapes.get(character) ?? caption(character, { ...style, left });
      shapes.set(character, shape);
      return shape;
    };
  });
}

/** Enough UTF-16 units per shown character, even if most of them are dropped. */
const UNITS_PER_CHARACTER = 8;
/** Replaces a character that the font lacks; the font lacks it too and draws a block. */
const UNKNOWN = '\u2588';
const ELLIPSIS = '...';

/** The start of a text in the characters of the font, wrapped into lines. An ellipsis marks what is left out. */
export function wrapText(text: string, columns: number, lines: number): string[] {
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
  return [...simple].map((character) => (fontHas(character) ? character : UNKNOWN)).join('');
}
