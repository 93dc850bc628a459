import type { Colour } from '../media';
import { mix, type Palette } from './colours';
import type { Box, Layer, Placed } from './layer';

/** Taken out of Math once: where tests run in a sandbox, a global costs more than the rest of a sample. */
const { abs, max, min, sqrt } = Math;

/** What a landscape is laid out in: the picture above the panel with the text, and how long it is shown. */
export interface Stage {
  width: number;
  height: number;
  frames: number;
}

/** Where the ranges of hills stand, and the sun rises and sets: shares of the height. */
const FAR = 0.74;
const NEAR = 0.88;

/** Clouds are not quite white: captions are read in front of them. */
const CLOUD_SHARE = 0.55;

/** A sky, a sun that crosses it once, clouds that drift, and two ranges of hills in front. */
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
  // Every row is of one colour: what continues its left neighbour costs next to nothing.
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
      colourAt: (x, y, under) => mix(under, colour, radius - distance(x - centreX, y - centreY) + 0.5),
    };
  };
}

/** A long bar with round ends, and a ball on it. */
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
      colourAt: (px, py, under) => {
        const x = px - centreX;
        const y = py - centreY;
        const inBar = radius - distance(max(0, abs(x) - half), y);
        const inBall = y > 0 ? -1 : ballRadius - distance(x - ballX, y + radius * 0.6);
        return mix(under, colour, CLOUD_SHARE * min(1, max(inBar, inBall) + 0.5));
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
    colourAt: (x, y, under) => mix(under, colour, y - (ridge[x] ?? height) + 0.5),
  });
}

export function still(placed: Placed): Layer {
  return () => placed;
}

/** With room for the soft edge. */
function around(x: number, y: number, reachX: number, reachY: number): Box {
  return {
    left: Math.floor(x - reachX) - 1,
    top: Math.floor(y - reachY) - 1,
    right: Math.ceil(x + reachX) + 2,
    bottom: Math.ceil(y + reachY) + 2,
  };
}

/** Math.hypot takes many times longer. */
function distance(x: number, y: number): number {
  return sqrt(x * x + y * y);
}
