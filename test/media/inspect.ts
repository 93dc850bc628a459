import { PassingVideo, type VideoInspection } from '../../src/media';

/** Inspects a file that comes in chunks of that many bytes, or at once. */
export function inspect(file: Buffer | string, chunkBytes = Infinity): Promise<VideoInspection> {
  const bytes = Buffer.from(file);
  const video = new PassingVideo();
  const step = Math.min(chunkBytes, Math.max(1, bytes.length));
  for (let at = 0; at < bytes.length; at += step) video.add(bytes.subarray(at, at + step));
  return video.inspect();
}
