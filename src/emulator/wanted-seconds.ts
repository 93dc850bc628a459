import type { VideoRequest } from '../contract/request';

const DEFAULT_DURATION_SECONDS = 5;

/** The interface does not say how short a video may be: what is no duration at all gets the default. */
export function wantedSeconds({ duration = 0 }: VideoRequest): number {
  return duration > 0 ? duration : DEFAULT_DURATION_SECONDS;
}
