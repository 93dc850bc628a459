import type { VideoRequest } from '../contract/request';
import { writeMp4 } from '../media';
import { frameSize } from './frame-size';
import { paintLayers } from './layer';
import { scene } from './scene';
import { wantedSeconds } from './wanted-seconds';

/** Enough to see things move, and a tenth of a second each; more would make the files larger. */
const FRAMES_PER_SECOND = 10;

/** A video that plays and shows what was asked for: the same bytes for the same request. */
export function pictureVideo(request: VideoRequest, signal?: AbortSignal): Promise<Buffer> {
  const shot = {
    ...frameSize(request),
    framesPerSecond: FRAMES_PER_SECOND,
    frames: wantedSeconds(request) * FRAMES_PER_SECOND,
  };
  const layers = scene(request, shot);
  return writeMp4({ ...shot, signal, draw: (picture, frame) => paintLayers(picture, layers, frame) });
}
