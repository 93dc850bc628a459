import { seededRandom } from '../seeded-random';
import { type Box, type Layer, still } from './layer';
import type { Colour } from './picture';

/** Read once: in Jest's sandbox, access to a global costs more than the rest of a sample. */
const { abs, max, min, sqrt } = Math;

/** The picture above the text panel, and how long it is shown. */
export interface Stage {
  width: number;
  height: number;
  frames: number;
}

/** Levels of the two ranges of hills, as shares of the height; the sun rises and sets behind the far one. */
const FAR = 0.74;
const NEAR = 0.88;

/** Clouds are translucent, so that captions in front of them stay readable. */
const CLOUD_OPACITY = 0.55;

/** A sky, a sun that crosses it once, drifting clouds, and two ranges of hills in front. */
export function landscape(stage: Stage, colours: Palette, random: () => number): Layer[] {
  return [
    sky(stage, colours),
    sun(stage, colours.sun, random),
    cloud(stage, colours.cloud, 0.4, random),
    cloud(stage, colours.cloud, 0.52, random),
    hills(stage, colours.farHills, FAR, random),
    hills(stage, colours.nearHills, NEAR, random),
  ];
}

function sky({ height }: Stage, { skyTop, skyBottom }: Palette): Layer {
  // Each row has one colour: H.264 predicts it from the left neighbour at almost no cost.
  const rows = Array.from({ length: height }, (_, y) => mix(skyTop, skyBottom, y / height));
  return still({
    box: { left: 0, top: 0, right: Infinity, bottom: height },
    colourAt: (_x, y) => rows[y] ?? skyBottom,
  });
}

function sun({ width, height, frames }: Stage, colour: Colour, random: () => number): Layer {
  const radius = Math.min(width, height) * (0.09 + 0.03 * random());
  const direction = random() < 0.5 ? 1 : -1;
  const horizon = height * FAR;
  const rise = horizon - height * (0.3 + 0.1 * random());
  return (frame) => {
    const day = frame / frames;
    const centreX = width * (0.5 + direction * (day - 0.5) * 0.9);
    const centreY = horizon - rise * Math.sin(Math.PI * day);
    return {
      box: around(centreX, centreY, radius, radius),
      colourAt: (x, y, below) => mix(below, colour, radius - distance(x - centreX, y - centreY) + 0.5),
    };
  };
}

/** A long bar with round ends, and a ball on top. */
function cloud({ width, height, frames }: Stage, colour: Colour, level: number, random: () => number): Layer {
  const radius = Math.round(Math.min(width, height) * (0.03 + 0.015 * random()));
  const half = radius * (2 + 2 * random());
  const ballX = half * (random() - 0.5);
  const ballRadius = radius * 1.6;
  const centreY = Math.round(height * (level + 0.08 * random()));
  const start = random() * width;
  const step = (width * (0.25 + 0.35 * random())) / frames;
  const reach = half + radius;
  return (frame) => {
    const centreX = ((start + step * frame) % (width + 2 * reach)) - reach;
    const bar = around(centreX, centreY, reach, radius);
    return {
      box: { ...bar, top: bar.top - 2 * radius },
      colourAt: (px, py, below) => {
        const x = px - centreX;
        const y = py - centreY;
        const inBar = radius - distance(max(0, abs(x) - half), y);
        const inBall = y > 0 ? -1 : ballRadius - distance(x - ballX, y + radius * 0.6);
        return mix(below, colour, CLOUD_OPACITY * min(1, max(inBar, inBall) + 0.5));
      },
    };
  };
}

function hills({ width, height }: Stage, colour: Colour, level: number, random: () => number): Layer {
  const waves = [2, 5, 11].map((count) => ({
    turns: (count + 2 * random()) * Math.PI,
    phase: 2 * Math.PI * random(),
    size: (0.18 * height) / count,
  }));
  const ridge = Array.from({ length: width }, (_, x) =>
    waves.reduce(
      (y, { turns, phase, size }) => y + size * Math.sin((x / width) * turns + phase),
      height * level,
    ),
  );
  const top = Math.floor(Math.min(...ridge)) - 1;
  return still({
    box: { left: 0, top, right: Infinity, bottom: height },
    colourAt: (x, y, below) => mix(below, colour, y - (ridge[x] ?? height) + 0.5),
  });
}

/** The box around a centre, with room for a soft edge. */
function around(x: number, y: number, reachX: number, reachY: number): Box {
  return {
    left: Math.floor(x - reachX) - 1,
    top: Math.floor(y - reachY) - 1,
    right: Math.ceil(x + reachX) + 2,
    bottom: Math.ceil(y + reachY) + 2,
  };
}

/** Many times faster than Math.hypot. */
function distance(x: number, y: number): number {
  return sqrt(x * x + y * y);
}

/** The colours of one seed. All follow from one hue, so that they match. */
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

/** Hues that look different; a third of the whole circle looks green. Neighbours in the list are far apart. */
const HUES = [210, 20, 130, 295, 40, 190, 330, 70, 235, 0, 165, 265];

export function palette(seed: number): Palette {
  const random = seededRandom(String(seed));
  // In turn, not at random: people try seeds 1, 2, 3.
  const hue = (HUES[Math.abs(seed % HUES.length)] ?? 0) + random() * 12;
  // The sun contrasts with the sky, and distinguishes seeds of similar hue.
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

/** A colour between two others, with this share of the upper one. */
function mix(lower: Colour, upper: Colour, share: number): Colour {
  if (share <= 0) return lower;
  if (share >= 1) return upper;
  return mixByte(lower, upper, share, 16) | mixByte(lower, upper, share, 8) | mixByte(lower, upper, share, 0);
}

function mixByte(lower: Colour, upper: Colour, share: number, shift: number): number {
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

/** BT.709 in video range: luma from 16 to 235, chroma around 128. */
function fromRgb(red: number, green: number, blue: number): Colour {
  const luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const y = Math.round(16 + 219 * luma);
  const u = Math.round(128 + (224 * (blue - luma)) / 1.8556);
  const v = Math.round(128 + (224 * (red - luma)) / 1.5748);
  return (y << 16) | (u << 8) | v;
}
