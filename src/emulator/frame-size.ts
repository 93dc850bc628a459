import type { VideoRequest } from '../contract/request';

/** What a request that does not say gets. */
const DEFAULT_RESOLUTION = '720p';
const DEFAULT_ASPECT_RATIO = '16:9';

/** The resolution is the shorter side; the other follows from the ratio, as an even number for the sake of chroma. */
export function frameSize({
  resolution = DEFAULT_RESOLUTION,
  aspect_ratio = DEFAULT_ASPECT_RATIO,
}: VideoRequest): { width: number; height: number } {
  const [across = 1, down = 1] = aspect_ratio.split(':').map(Number);
  const shorter = Number.parseInt(resolution, 10);
  const longer = 2 * Math.round((shorter * Math.max(across, down)) / Math.min(across, down) / 2);
  return across >= down ? { width: longer, height: shorter } : { width: shorter, height: longer };
}
