import type { VideoRequest } from '../../contract/request';
import { seededRandom } from '../seeded-random';
import { ADVANCE, LINE_HEIGHT } from './bitmap-font';
import { bar, type CaptionStyle, caption, changingCaption, wrapText } from './captions';
import { landscape, palette } from './landscape';
import { type Layer, still } from './layer';
import { LUMA_SIDE } from './picture';

export interface Shot {
  width: number;
  height: number;
  frames: number;
  framesPerSecond: number;
}

const MAX_PROMPT_LINES = 3;

/**
 * Shows a request: its prompt as text, its seed as a landscape with its own colours, and the time as a clock, a frame
 * counter, a moving sun and a progress bar.
 */
export function scene(request: VideoRequest, { width, height, frames, framesPerSecond }: Shot): Layer[] {
  const serialized = JSON.stringify(request);
  const { seed = Math.floor(seededRandom(serialized)() * 2 ** 32) } = request;
  const colours = palette(seed);
  // All sizes follow from the shorter side; the unit is 16 samples at 720p.
  const unit = Math.min(width, height) / 45;
  const margin = aligned(1.5 * unit, LUMA_SIDE);
  const small = Math.max(2, Math.round(unit / 4));
  const medium = Math.round(0.4 * unit);
  const large = aligned(0.75 * unit, LUMA_SIDE / 2);

  const columns = Math.floor((width - 2 * margin) / (ADVANCE * medium));
  const lines = wrapText(request.prompt, columns, MAX_PROMPT_LINES);
  const panelTop = height - 2 * margin - (lines.length * LINE_HEIGHT - 3) * medium;
  const barHeight = Math.round(unit / 2);
  const { text, panel, sun } = colours;
  const style = { left: margin, colour: text };
  const onSky = { ...style, shadow: panel };
  const belowClock = margin + LINE_HEIGHT * large;

  return [
    // The whole request seeds the layout, so that no two requests make the same file.
    ...landscape({ width, height: panelTop, frames }, colours, seededRandom(serialized)),
    still(bar({ left: 0, top: panelTop, right: Infinity, bottom: Infinity }, panel)),
    ...lines.map((line, index) => {
      const top = panelTop + margin + index * LINE_HEIGHT * medium;
      return still(caption(line, { ...style, top, dot: medium }));
    }),
    (frame) => {
      const right = Math.round((width * (frame + 1)) / frames);
      return bar({ left: 0, top: panelTop, right, bottom: panelTop + barHeight }, sun);
    },
    ...changingCaption((frame) => clock(frame / framesPerSecond), { ...onSky, top: margin, dot: large }),
    ...changingCaption((frame) => `FRAME ${padded(frame + 1, 3)}/${frames}`, {
      ...onSky,
      top: belowClock,
      dot: small,
    }),
    ...seedCaption(request, { ...onSky, top: belowClock + LINE_HEIGHT * small, dot: small }),
  ];
}

function seedCaption({ seed }: VideoRequest, style: CaptionStyle): Layer[] {
  return seed === undefined ? [] : [still(caption(`SEED ${seed}`, style))];
}

/** Aligns what changes most often with macroblocks, so that more of them are flat or straight and compress well. */
function aligned(value: number, to: number): number {
  return to * Math.round(value / to);
}

/** `0:03.4` */
function clock(seconds: number): string {
  const tenths = Math.floor(seconds * 10);
  return `0:${padded(Math.floor(tenths / 10), 2)}.${tenths % 10}`;
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
