import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../contract/request';

type Shape = Required<Pick<VideoRequest, 'resolution' | 'aspect_ratio'>>;

/** A size as OpenAI's clients and the AI SDK write it. */
export type VideoSize = `${number}x${number}`;

/** The short side in pixels. */
const LINES = { '480p': 480, '720p': 720, '1080p': 1080 } as const;

/** `1280x720` is 720p and 16:9. A size that no resolution and ratio of the interface make is undefined. */
export function shapeOf(size: string): Shape | undefined {
  return ALL_SHAPES.get(size);
}

/** The size of a request that has both; undefined for one whose size the service chooses. */
export function sizeOf({ resolution, aspect_ratio }: VideoRequest): VideoSize | undefined {
  if (resolution === undefined || aspect_ratio === undefined) return undefined;
  return sizeText({ resolution, aspect_ratio });
}

/** Codecs take even sizes only: 480p at 16:9 is 854 wide, not 853. */
export function sizeText({ resolution, aspect_ratio }: Shape): VideoSize {
  const [across = 1, down = 1] = aspect_ratio.split(':').map(Number);
  const short = LINES[resolution];
  const long = 2 * Math.round((short * Math.max(across, down)) / Math.min(across, down) / 2);
  return across < down ? `${short}x${long}` : `${long}x${short}`;
}

const ALL_SHAPES: ReadonlyMap<string, Shape> = new Map(
  RESOLUTIONS.flatMap((resolution) =>
    ASPECT_RATIOS.map((aspect_ratio) => ({ resolution, aspect_ratio })),
  ).map((shape) => [sizeText(shape), shape]),
);

/** Every size that can be asked for, for the sentence about one that cannot. */
export const SIZES: readonly string[] = [...ALL_SHAPES.keys()];
