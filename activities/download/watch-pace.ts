import type { Readable } from 'node:stream';
import { describeDuration } from '../../src/contract/duration';
import { ServiceFault } from '../../src/service';

/** How slow a download may be before it is retried. */
export interface DownloadPace {
  /** In each window, at least `leastBytes` must arrive, unless the storage is the slow part. */
  windowMs: number;
  leastBytes: number;
  /** How long one attempt may take. */
  attemptMs: number;
}

export interface WatchedDownload {
  readonly bytes: number;
  readonly waitsForStorage: boolean;
}

/** Ends a stream that is too slow or takes too long. Returns a function that stops watching. */
export function watchPace(
  stream: Readable,
  download: WatchedDownload,
  { windowMs, leastBytes }: DownloadPace,
  endsAtMs: number,
): () => void {
  let bytesBefore = download.bytes;
  const slow = setInterval(() => {
    const received = download.bytes - bytesBefore;
    bytesBefore = download.bytes;
    if (received >= leastBytes || download.waitsForStorage) return;
    end(stream, `only ${received} bytes arrived in ${describeDuration(windowMs)}`);
  }, windowMs);
  const late = setTimeout(
    () => end(stream, 'the attempt took too long; the next one resumes the download'),
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
