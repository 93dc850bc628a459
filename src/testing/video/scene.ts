import type { VideoRequest } from '../../contract/request';
import { seededRandom } from '../seeded-random';
import type { Colour, Mosaic } from './mosaic';

const { cos, min, PI, round, sin, sqrt } = Math;

/** Rows of the meadow below the sky. The progress bar is the first of them. */
const MEADOW_ROWS = 3;

/** Shows a request: a sky in the colours of its seed, over which the sun passes once, and a progress bar above a meadow. */
export function scene(request: VideoRequest, { columns, rows }: Mosaic, frames: number) {
  // The whole request seeds the meadow, so that no two requests make the same file.
  const random = seededRandom(JSON.stringify(request));
  const { seed = Math.floor(random() * 2 ** 32) } = request;
  // All colours follow from one hue, so that they match. It turns by the golden angle: seeds 1, 2, 3 are far apart.
  const hue = (seed % 1_000) * PI * (3 - sqrt(5));
  const sun = colour(205, 55, hue + PI);
  const skyRows = rows - MEADOW_ROWS;
  const sky = Array.from({ length: skyRows }, (_, row) => {
    const down = row / skyRows;
    return colour(105 + 85 * down, 38 - 10 * down, hue + down / 2);
  });
  const meadow = Array.from({ length: MEADOW_ROWS * columns }, () => colour(24 + 24 * random(), 6, hue));
  const radius = min(columns, rows) / 9;

  return (frame: number): ((column: number, row: number) => Colour) => {
    const day = frame / frames;
    const sunX = columns * (0.05 + 0.9 * day);
    const sunY = skyRows * (0.75 - 0.5 * sin(PI * day));
    const progress = (columns * (frame + 1)) / frames;
    return (column, row) => {
      if (row < skyRows)
        return (column - sunX) ** 2 + (row - sunY) ** 2 < radius ** 2 ? sun : (sky[row] ?? 0);
      const isBar = row === skyRows && column < progress;
      return isBar ? sun : (meadow[(row - skyRows) * columns + column] ?? 0);
    };
  };
}

/** A hue is an angle of the two chroma components around grey. */
function colour(luma: number, chroma: number, hue: number): Colour {
  return (round(luma) << 16) | (round(128 + chroma * cos(hue)) << 8) | round(128 + chroma * sin(hue));
}
