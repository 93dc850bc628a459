import type { Readable, Writable } from 'node:stream';

/** Where videos go. A video is there whole, under its key, or not at all. */
export interface VideoStorage {
  /** Opens a place for a video that is on its way. */
  receive(key: string, options: ReceiveOptions): Promise<IncomingVideo>;
  /** Stores something small beside the videos, in place of what was there. */
  write(key: string, content: string | Buffer, contentType: string): Promise<{ uri: string }>;
  /** What is stored under a key; undefined when nothing is. */
  read(key: string): Promise<Readable | undefined>;
  /** What an attempt that ended has left of a video, if this storage can tell. */
  readPart?(key: string, part: string): Promise<Readable | undefined>;
  /** Tries the storage with something small that it takes away again; a StorageUnusable says what is wrong. */
  probe?(limitMs?: number): Promise<void>;
  /** Removes what attempts have left and nobody has written to for so long; answers how many it was. */
  sweep?(olderThanMs: number): Promise<number>;
}

export interface ReceiveOptions {
  /** Whose video it is. What earlier attempts of the same owner have left under the key goes when this one ends. */
  owner: string;
  contentType: string;
  /** True when an earlier attempt may have left something. */
  isRetry?: boolean;
}

/** A video on its way: to be ended by exactly one of its methods. */
export interface IncomingVideo {
  /** Takes the bytes in their order. Nobody but these methods ends it. */
  readonly sink: Writable;
  /** Puts the video under its key. If another one is there it is the same one, byte for byte, or a StorageFault. */
  publish(whole: WholeVideo): Promise<{ uri: string }>;
  /** Removes what has come. */
  discard(): Promise<void>;
  /** Where another attempt can take up what has come: its name for `readPart`, and how to leave it there. */
  readonly part?: { name: string; leave(): Promise<void> };
  /** Keeps what has come for somebody to look at, under a key that is not its own. */
  setAside?(key: string): Promise<{ uri: string }>;
}

export interface WholeVideo {
  bytes: number;
  sha256: string;
}

export interface StorageFaultOptions extends ErrorOptions {
  isFinal?: boolean;
  code?: string;
}

/** The storage is to blame, not the network that feeds it. */
export class StorageFault extends Error {
  override readonly name: string = 'StorageFault';
  /** Whether trying again is of no use. */
  readonly isFinal: boolean;

  /** The system's word for it, such as ENOSPC. */
  readonly code: string | undefined;

  constructor(message: string, { isFinal = false, code, ...options }: StorageFaultOptions = {}) {
    super(message, options);
    this.isFinal = isFinal;
    this.code = code;
  }
}
