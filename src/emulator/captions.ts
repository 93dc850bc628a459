import type { Colour } from '../media';
import { ADVANCE, GLYPH_HEIGHT, Lettering } from './bitmap-font';
import type { Box, Layer, Placed } from './layer';

/** Taken out of Math once: where tests run in a sandbox, a global costs more than the rest of a sample. */
const { floor } = Math;

/** A rectangle of one colour. */
export function bar(box: Box, colour: Colour): Placed {
  const { left, top, right, bottom } = box;
  return {
    box,
    colourAt: (x, y, under) => (x >= left && x < right && y >= top && y < bottom ? colour : under),
  };
}

export interface CaptionStyle {
  left: number;
  top: number;
  /** How many samples a dot of the font is wide and high. */
  dot: number;
  colour: Colour;
  /** Below and to the right of each dot, so that the text can be read on whatever is behind it. */
  shadow?: Colour;
}

/** One line of text. */
export function caption(text: string, { left, top, dot, colour, shadow }: CaptionStyle): Placed {
  const lettering = new Lettering(text);
  const shift = shadow === undefined ? 0 : Math.ceil(dot / 2.5);
  const dotAt = (x: number, y: number) => lettering.hasDot(floor((x - left) / dot), floor((y - top) / dot));
  return {
    box: {
      left,
      top,
      right: left + lettering.width * dot + shift,
      bottom: top + GLYPH_HEIGHT * dot + shift,
    },
    colourAt: (x, y, under) => {
      if (dotAt(x, y)) return colour;
      return shadow !== undefined && dotAt(x - shift, y - shift) ? shadow : under;
    },
  };
}

/** A text that is another in every frame and always as long: a layer a character, for most of them stay. */
export function changingCaption(text: (frame: number) => string, style: CaptionStyle): Layer[] {
  return [...text(0)].map((_, index) => {
    const left = style.left + index * ADVANCE * style.dot;
    const seen = new Map<string, Placed>();
    return (frame) => {
      const character = text(frame).charAt(index);
      const placed = seen.get(character) ?? caption(character, { ...style, left });
      seen.set(character, placed);
      return placed;
    };
  });
}
