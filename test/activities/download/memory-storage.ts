import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { IncomingVideo, VideoStorage } from '../../../src/storage';

export interface MemoryStorageOptions {
  /** The files by their keys. */
  stored?: Map<string, Buffer>;
  /** With it, parts of videos can be left and read. */
  parts?: Map<string, Buffer>;
  /** What an incoming video does otherwise. */
  incoming?: Partial<IncomingVideo>;
}

/** A storage of somebody's own: without `parts`, it has only the three methods that a storage must have. */
export function inMemory({
  stored = new Map(),
  parts,
  incoming = {},
}: MemoryStorageOptions = {}): VideoStorage {
  return {
    receive: async (key) => {
      const sink = new PassThrough();
      const content = buffer(sink);
      content.catch(() => undefined);
      const end = () => {
        sink.end();
        return content;
      };
      const name = `${key}.part`;
      const leave = async () => {
        parts?.set(name, await end());
      };
      return {
        sink,
        publish: async () => {
          stored.set(key, await end());
          return { uri: `memory:${key}` };
        },
        discard: async () => {
          sink.destroy();
        },
        ...(parts && { part: { name, leave } }),
        ...incoming,
      };
    },
    write: async (key, text) => {
      stored.set(key, Buffer.from(text));
      return { uri: `memory:${key}` };
    },
    read: async (key) => streamOf(stored.get(key)),
    ...(parts && { readPart: async (_key: string, part: string) => streamOf(parts.get(part)) }),
  };
}

const streamOf = (bytes: Buffer | undefined) =>
  bytes && Readable.from(bytes.length > 0 ? [bytes] : [], { objectMode: false });
