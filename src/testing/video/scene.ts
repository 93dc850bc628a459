import type { VideoRequest } from '../../contract/request';
import { seededRandom } from '../seeded-random';
import { ADVANCE, hasDot, LINE_HEIGHT, wrapCaption } from './font';
import type { Box, Paint } from './picture';

/** Read once: in Jest's sandbox, access to a global costs more than the rest of a sample. */
const { cos, floor, min, PI, round, sin, sqrt } = Math;

export interface Shot {
  width: number;
  height: number;
  frames: number;
  framesPerSecond: number;
}

/** One frame of a scene. */
export interface Frame {
  colourAt(x: number, y: number): Paint;
  /** Where it differs from other frames. */
  moving: Box[];
}

interface Caption {
  text: string;
  left: number;
  top: number;
  /** Width and height of one dot of the font, in samples. */
  dot: number;
}

const MAX_PROMPT_LINES = 3;

/**
 * Shows a request: its seed as a landscape with its own colours, over which the sun passes once, and below it a progress
 * bar, the prompt, a clock and the seed.
 */
export function scene(request: VideoRequest, { width, height, frames, framesPerSecond }: Shot) {
  // The whole request seeds the layout, so that no two requests make the same file.
  const random = seededRandom(JSON.stringify(request));
  const { seed = floor(random() * 2 ** 32) } = request;
  const colours = palette(seed);
  // All sizes follow from the shorter side; the unit is 16 samples at 720p.
  const unit = min(width, height) / 45;
  const margin = round(1.5 * unit);
  const dot = round(0.4 * unit);
  const small = round(unit / 4);

  const lines = wrapCaption(request.prompt, floor((width - 2 * margin) / (ADVANCE * dot)), MAX_PROMPT_LINES);
  const clockTop = height - margin - LINE_HEIGHT * small;
  const panelTop = clockTop - margin - lines.length * LINE_HEIGHT * dot;
  const prompt = lines.map(
    (text, line): Caption => ({ text, left: margin, top: panelTop + margin + line * LINE_HEIGHT * dot, dot }),
  );
  const bar = { left: 0, top: panelTop, right: width, bottom: panelTop + round(unit / 2) };
  const clockBox = { left: margin, top: clockTop, right: margin + 6 * ADVANCE * small, bottom: height };

  // Each row of the sky has one colour: H.264 predicts it from the left neighbour at almost no cost.
  const sky = Array.from({ length: panelTop }, (_, y) =>
    mix(colours.skyTop, colours.skyBottom, y / panelTop),
  );
  const hills = [
    { colour: colours.farHills, ridge: ridge(width, panelTop, 0.74, random) },
    { colour: colours.nearHills, ridge: ridge(width, panelTop, 0.88, random) },
  ];
  const radius = min(width, height) * (0.09 + 0.03 * random());
  const direction = random() < 0.5 ? 1 : -1;
  const noon = panelTop * (0.25 + 0.1 * random());

  return (frame: number): Frame => {
    const day = frame / frames;
    const sunX = width * (0.5 + direction * (day - 0.5) * 0.9);
    const sunY = 0.74 * panelTop - (0.74 * panelTop - noon) * sin(PI * day);
    const progress = (width * (frame + 1)) / frames;
    const seedText = request.seed === undefined ? '' : `  SEED ${seed}`;
    const clock = {
      text: clockAt(frame / framesPerSecond) + seedText,
      left: margin,
      top: clockTop,
      dot: small,
    };
    const captions = [...prompt, clock];

    const landscapeAt = (x: number, y: number): Paint => {
      const distance = sqrt((x - sunX) ** 2 + (y - sunY) ** 2);
      let colour = mix(sky[y] ?? 0, colours.sun, radius - distance + 0.5);
      for (const hill of hills) colour = mix(colour, hill.colour, y - (hill.ridge[x] ?? panelTop) + 0.5);
      return colour;
    };
    return {
      colourAt: (x, y) => {
        if (y < panelTop) return landscapeAt(x, y);
        if (y < bar.bottom) return x < progress ? colours.sun : colours.panel;
        return captions.some((caption) => covers(caption, x, y)) ? colours.text : colours.panel;
      },
      moving: [
        {
          left: sunX - radius - 1,
          top: sunY - radius - 1,
          right: sunX + radius + 2,
          bottom: sunY + radius + 2,
        },
        bar,
        clockBox,
      ],
    };
  };
}

function covers({ text, left, top, dot }: Caption, x: number, y: number): boolean {
  const row = floor((y - top) / dot);
  return row >= 0 && row < LINE_HEIGHT && hasDot(text, floor((x - left) / dot), row);
}

/** The height of a range of hills at each column: three waves around a level. */
function ridge(width: number, height: number, level: number, random: () => number): number[] {
  const waves = [2, 5, 11].map((count) => ({
    turns: (count + 2 * random()) * PI,
    phase: 2 * PI * random(),
    size: (0.18 * height) / count,
  }));
  return Array.from({ length: width }, (_, x) =>
    waves.reduce((y, { turns, phase, size }) => y + size * sin((x / width) * turns + phase), height * level),
  );
}

/** All colours follow from one hue, so that they match. Seeds 1, 2, 3 are far apart: it turns by the golden angle. */
function palette(seed: number) {
  const hue = (seed % 1_000) * PI * (3 - sqrt(5));
  return {
    skyTop: colour(105, 38, hue),
    skyBottom: colour(190, 28, hue + 0.5),
    sun: colour(205, 55, hue + PI),
    farHills: colour(85, 30, hue - 0.4),
    nearHills: colour(55, 24, hue - 0.6),
    panel: colour(24, 6, hue),
    text: colour(225, 4, hue),
  };
}

/** A hue is an angle of the two chroma components around grey. */
function colour(luma: number, chroma: number, hue: number): Paint {
  return (luma << 16) | (round(128 + chroma * cos(hue)) << 8) | round(128 + chroma * sin(hue));
}

/** A colour between two others, with this share of the upper one. */
function mix(lower: Paint, upper: Paint, share: number): Paint {
  if (share <= 0) return lower;
  if (share >= 1) return upper;
  return mixByte(lower, upper, share, 16) | mixByte(lower, upper, share, 8) | mixByte(lower, upper, share, 0);
}

function mixByte(lower: Paint, upper: Paint, share: number, shift: number): number {
  const from = (lower >>> shift) & 0xff;
  const to = (upper >>> shift) & 0xff;
  // A shift drops the fraction.
  return (from + (to - from) * share + 0.5) << shift;
}

/** `0:03.4` */
function clockAt(seconds: number): string {
  const tenths = floor(seconds * 10 + 0.001);
  return `0:${String(floor(tenths / 10)).padStart(2, '0')}.${tenths % 10}`;
}
