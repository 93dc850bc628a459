import { createCipheriv, createHash } from 'node:crypto';
import type { VideoRequest } from '../contract/request';

const FTYP = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex');
const HEAD_BYTES = FTYP.length + 8;

/** An MP4 file's outer form around noise, of any size: the same bytes for the same request, others for another. */
export function noiseVideo(request: VideoRequest, bytes: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  const noise = Math.max(0, bytes - HEAD_BYTES);
  FTYP.copy(head);
  head.writeUInt32BE(8 + noise, FTYP.length);
  head.write('mdat', FTYP.length + 4, 'latin1');
  // The stream of a cipher is noise that can be made again, at the speed of a download.
  const seed = createHash('sha256').update(JSON.stringify(request)).digest();
  const stream = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
  return Buffer.concat([head, stream.update(Buffer.alloc(noise))]);
}
