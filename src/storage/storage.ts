import type { Readable } from 'node:stream';

export interface Saved {
  uri: string;
  bytes: number;
  sha256: string;
}

export interface SaveOptions {
  signal?: AbortSignal;
  onBytes?: (bytesSoFar: number) => void;
  /** Sees what was written before it is published under its key; throwing here leaves nothing behind. */
  accept?: (written: { bytes: number; sha256: string }) => void;
}

/** Where videos go. A video is there whole, under its key, or not at all. */
export interface VideoStorage {
  save(key: string, video: Readable, options?: SaveOptions): Promise<Saved>;
}

/** The storage is to blame, not the network that feeds it. */
export class StorageFault extends Error {
  override readonly name = 'StorageFault';
}
