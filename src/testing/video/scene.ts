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

/** Shows a request: a sky in the colours of its seed, over which the sun passes once, a progress bar and the prompt. */
export function scene(request: VideoRequest, { width, height, frames }: Shot) {
  // The whole request seeds the layout, so that no two requests make the same file.
  const random = seededRandom(JSON.stringify(request));
  const { seed = floor(random() * 2 ** 32) } = request;
  // All colours follow from one hue, so that they match. It turns by the golden angle: seeds 1, 2, 3 are far apart.
  const hue = (seed % 1_000) * PI * (3 - sqrt(5));
  const [sun, panel, ink] = [colour(205, 55, hue + PI), colour(24, 6, hue), colour(225, 4, hue)];
  // All sizes follow from the shorter side; the unit is 16 samples at 720p.
  const unit = min(width, height) / 45;
  const margin = round(1.5 * unit);
  const dot = round(0.4 * unit);

  const lines = wrapCaption(request.prompt, floor((width - 2 * margin) / (ADVANCE * dot)), MAX_PROMPT_LINES);
  const panelTop = height - 2 * margin - lines.length * LINE_HEIGHT * dot;
  const captions = lines.map(
    (text, line): Caption => ({ text, left: margin, top: panelTop + margin + line * LINE_HEIGHT * dot, dot }),
  );
  const bar = { left: 0, top: panelTop, right: width, bottom: panelTop + round(unit / 2) };

  // Each row of the sky has one colour: H.264 predicts it from the left neighbour at almost no cost.
  const sky = Array.from({ length: panelTop }, (_, y) => {
    const down = y / panelTop;
    return colour(105 + 85 * down, 38 - 10 * down, hue + down / 2);
  });
  const radius = min(width, height) * (0.09 + 0.03 * random());
  const noon = panelTop * (0.25 + 0.1 * random());

  return (frame: number): Frame => {
    const day = frame / frames;
    const sunX = width * (0.05 + day * 0.9);
    const sunY = 0.74 * panelTop - (0.74 * panelTop - noon) * sin(PI * day);
    const progress = (width * (frame + 1)) / frames;
    return {
      colourAt: (x, y) => {
        if (y < panelTop) return (x - sunX) ** 2 + (y - sunY) ** 2 < radius ** 2 ? sun : (sky[y] ?? 0);
        if (y < bar.bottom) return x < progress ? sun : panel;
        return captions.some((caption) => covers(caption, x, y)) ? ink : panel;
      },
      moving: [
        { left: sunX - radius, top: sunY - radius, right: sunX + radius + 1, bottom: sunY + radius + 1 },
        bar,
      ],
    };
  };
}

function covers({ text, left, top, dot }: Caption, x: number, y: number): boolean {
  const row = floor((y - top) / dot);
  return row >= 0 && row < LINE_HEIGHT && hasDot(text, floor((x - left) / dot), row);
}

/** A hue is an angle of the two chroma components around grey. */
function colour(luma: number, chroma: number, hue: number): Paint {
  return (luma << 16) | (round(128 + chroma * cos(hue)) << 8) | round(128 + chroma * sin(hue));
}
