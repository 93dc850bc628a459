import type { Readable } from 'node:stream';

/**
 * Hands each chunk over as it comes, and holds the stream back while there is something to wait for. A loop that awaits
 * every chunk took a tenth longer for a large video.
 */
export function pour(stream: Readable, take: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let taking: Promise<void> | undefined;
    // A stream ends or breaks when it likes, however it is held back; it is over when its last chunk has been taken.
    const over = (end: () => void) => Promise.resolve(taking).then(end, reject);
    const fail = (error: unknown) => {
      stream.destroy();
      reject(error);
    };
    stream.on('data', (chunk: Buffer) => {
      try {
        taking = take(chunk);
        if (taking === undefined) return;
        stream.pause();
        taking.then(() => stream.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    stream.once('end', () => over(resolve));
    stream.once('error', (error) => over(() => reject(error)));
    stream.once('close', () => over(() => reject(new Error('the stream was closed before its end'))));
  });
}
