import { RESOLUTIONS, type VideoRequest } from '../../../../src/contract/request';

/** The resolution behind a size such as 1280x720: its shorter side. */
export function resolutionOf(size: string | undefined): VideoRequest['resolution'] {
  const [, width, height] = /^(\d+)[x*](\d+)$/.exec(size ?? '') ?? [];
  const shorter = `${Math.min(Number(width), Number(height))}p`;
  return RESOLUTIONS.find((one) => one === shorter);
}
