import type { Colour } from '../media';
import { seededRandom } from './seeded-random';

/** The colours of one seed: all of them follow from its hue, so that they go together. */
export interface Palette {
  skyTop: Colour;
  skyBottom: Colour;
  sun: Colour;
  cloud: Colour;
  farHills: Colour;
  nearHills: Colour;
  panel: Colour;
  text: Colour;
}

/** Hues that look different: of the whole circle a third would be green to the eye. Neighbours in it are far apart. */
const HUES = [210, 20, 130, 295, 40, 190, 330, 70, 235, 0, 165, 265];

export function palette(seed: number): Palette {
  const random = seededRandom(String(seed));
  // In turn and not at random: people try 1, 2, 3.
  const hue = (HUES[Math.abs(seed % HUES.length)] ?? 0) + random() * 12;
  // The sun is of another colour than the sky, and which one tells two seeds of a like hue apart.
  const sunHue = hue + 100 + random() * 160;
  return {
    skyTop: fromHsl(hue + 25, 0.6, 0.42),
    skyBottom: fromHsl(hue, 0.75, 0.8),
    sun: fromHsl(sunHue, 0.95, 0.62),
    cloud: fromHsl(hue, 0.55, 0.88),
    farHills: fromHsl(hue + 35, 0.42, 0.36),
    nearHills: fromHsl(hue + 50, 0.5, 0.22),
    panel: fromHsl(hue + 50, 0.45, 0.08),
    text: fromHsl(hue, 0.4, 0.97),
  };
}

/** Between two colours: `share` of the upper one. */
export function mix(lower: Colour, upper: Colour, share: number): Colour {
  if (share <= 0) return lower;
  if (share >= 1) return upper;
  return part(lower, upper, share, 16) | part(lower, upper, share, 8) | part(lower, upper, share, 0);
}

function part(lower: Colour, upper: Colour, share: number, shift: number): number {
  const from = (lower >>> shift) & 0xff;
  const to = (upper >>> shift) & 0xff;
  // A shift drops the fraction.
  return (from + (to - from) * share + 0.5) << shift;
}

function fromHsl(hue: number, saturation: number, lightness: number): Colour {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const k = (offset + hue / 30) % 12;
    return lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return fromRgb(channel(0), channel(8), channel(4));
}

/** BT.709 in the range that video has: luma from 16 to 235, chroma around 128. */
function fromRgb(red: number, green: number, blue: number): Colour {
  const luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const y = Math.round(16 + 219 * luma);
  const u = Math.round(128 + (224 * (blue - luma)) / 1.8556);
  const v = Math.round(128 + (224 * (red - luma)) / 1.5748);
  return (y << 16) | (u << 8) | v;
}
