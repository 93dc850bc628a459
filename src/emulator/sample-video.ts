import { createHash } from 'node:crypto';
import type { VideoRequest } from '../contract/request';

const FTYP = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex');

/** An MP4 file's outer form around noise: the same bytes for the same request, other bytes for another. */
export function sampleVideo(request: VideoRequest, bytes: number): Buffer {
  const video = Buffer.alloc(Math.max(bytes, FTYP.length + 8));
  FTYP.copy(video);
  video.writeUInt32BE(video.length - FTYP.length, FTYP.length);
  video.write('mdat', FTYP.length + 4, 'latin1');
  const seed = JSON.stringify(request);
  for (let offset = FTYP.length + 8, block = 0; offset < video.length; offset += 32, block++) {
    createHash('sha256').update(`${block} ${seed}`).digest().copy(video, offset);
  }
  return video;
}
