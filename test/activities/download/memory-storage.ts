import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { VideoStorage } from '../../../src/storage';

/** A storage of somebody's own: it has only the four methods that a storage must have. */
export function inMemory(stored = new Map<string, Buffer>()): VideoStorage {
  return {
    publishFile: async (path, key) => {
      stored.set(key, await readFile(path));
      return { uri: `memory:${key}` };
    },
    write: async (key, text) => {
      stored.set(key, Buffer.from(text));
      return { uri: `memory:${key}` };
    },
    create: async (key, text) => {
      if (stored.has(key)) return false;
      stored.set(key, Buffer.from(text));
      return true;
    },
    read: async (key) => {
      const bytes = stored.get(key);
      return bytes && Readable.from(bytes.length > 0 ? [bytes] : [], { objectMode: false });
    },
  };
}
