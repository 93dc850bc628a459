import { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PartNote, VideoDownload } from '../../../activities/download/video-download';
import type { VideoBody } from '../../../src/service';
import type { IncomingVideo, ReceiveOptions, VideoStorage } from '../../../src/storage';
import { sha256 } from './download-world';
import { inMemory } from './memory-storage';

export const VALIDATOR = '"fox"';

/** The note of a part with these bytes. */
export const noteOf = (bytes: Buffer): PartNote => ({
  key: 'fox.mp4',
  part: 'fox.mp4.part',
  bytes: bytes.length,
  sha256: sha256(bytes),
  validator: VALIDATOR,
});

export interface Opened {
  incoming?: Partial<IncomingVideo>;
  parts?: Map<string, Buffer> | undefined;
  change?: Partial<VideoStorage>;
  largestBytes?: number;
}

/** A storage that has only the methods that it must have. */
export const WITHOUT_PARTS: Opened = { change: { receive: inMemory().receive } };

/** A download of a video into a storage that counts what it receives and what it discards. */
export function openDownload(
  video: Buffer,
  { incoming, parts = new Map(), change, largestBytes = 1e9 }: Opened = {},
) {
  const stored = new Map<string, Buffer>();
  const received: [string, ReceiveOptions][] = [];
  const discarded: string[] = [];
  const memory = { ...inMemory({ stored, parts, ...(incoming && { incoming }) }), ...change };
  const storage: VideoStorage = {
    ...memory,
    receive: async (key, options) => {
      received.push([key, options]);
      const opened = await memory.receive(key, options);
      const discard = async () => {
        discarded.push(key);
        await opened.discard();
      };
      return { ...opened, discard };
    },
  };
  const cancelling = new AbortController();
  const download = new VideoDownload({
    storage,
    owner: 'task-1',
    isRetry: true,
    largestBytes,
    signal: cancelling.signal,
    keyFor: (extension) => `fox.${extension}`,
  });
  /** One connection to the server, from its answer to the end of its stream. */
  const connect = async (bytes: Buffer, answer: Partial<VideoBody> = {}) => {
    const stream = streamOf([bytes]);
    const length = { offset: 0, bytes: video.length, validator: VALIDATOR };
    await download.expect({ stream, contentType: 'video/mp4', ...length, ...answer });
    await download.write(stream);
  };
  return {
    download,
    connect,
    stored,
    received,
    discarded,
    cancel: () => cancelling.abort(new Error('stop')),
  };
}

export const streamOf = (chunks: Buffer[]) => Readable.from(chunks, { objectMode: false });

/** Confirms what is written to it only when the test says so. */
export function heldSink() {
  const waiting: ((error?: Error) => void)[] = [];
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(chunk);
      waiting.push(done);
    },
  });
  const confirm = async (count: number, error?: Error) => {
    for (let left = count; left > 0; left--) waiting.shift()?.(error);
    await nextTurn();
  };
  return { sink, chunks, confirm };
}
