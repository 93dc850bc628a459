import { PassingVideo, type VideoInspection } from '../../src/media';

/** What a file is, when it passes in chunks of that many bytes, or at once. */
export function lookAt(file: Buffer | string, chunkBytes = Infinity): Promise<VideoInspection> {
  const bytes = Buffer.from(file);
  const video = new PassingVideo();
  const step = Math.min(chunkBytes, Math.max(1, bytes.length));
  for (let at = 0; at < bytes.length; at += step) video.keep(bytes.subarray(at, at + step));
  return video.look();
}
