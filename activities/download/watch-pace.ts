import type { Readable } from 'node:stream';
import { describeDuration } from '../../src/contract/duration';
import { ServiceFault } from '../../src/service';

export interface DownloadPace {
  /** The source has to bring `leastBytes` within each of these, unless the storage is what is slow. */
  windowMs: number;
  leastBytes: number;
  /** For how long one attempt may go on. */
  attemptMs: number;
}

export interface Watched {
  readonly bytes: number;
  readonly waitsForStorage: boolean;
}

/** Ends a stream that brings next to nothing, or for too long; answers how to stop watching. */
export function watchPace(
  stream: Readable,
  reception: Watched,
  { windowMs, leastBytes }: DownloadPace,
  endsAtMs: number,
): () => void {
  let before = reception.bytes;
  const slow = setInterval(() => {
    const came = reception.bytes - before;
    before = reception.bytes;
    if (came >= leastBytes || reception.waitsForStorage) return;
    end(stream, `${came} bytes came in ${describeDuration(windowMs)}`);
  }, windowMs);
  const late = setTimeout(
    () => end(stream, 'the attempt took too long, another one goes on'),
    Math.max(0, endsAtMs - Date.now()),
  );
  return () => {
    clearInterval(slow);
    clearTimeout(late);
  };
}

function end(stream: Readable, message: string): void {
  stream.destroy(new ServiceFault('cut', { message }));
}
