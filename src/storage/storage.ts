import type { Readable, Writable } from 'node:stream';

/** Where videos are stored. Under its key a video is either complete or not there at all. */
export interface VideoStorage {
  /** Begins to receive a video. */
  receive(key: string, options: ReceiveOptions): Promise<IncomingVideo>;
  /** Stores a small file beside the videos, replacing an earlier one. */
  write(key: string, content: string | Buffer, contentType: string): Promise<{ uri: string }>;
  /** What is stored under a key; undefined when nothing is. */
  read(key: string): Promise<Readable | undefined>;
  /** The video that a job's result names, whole or in part; undefined when it is not in this storage. */
  open?(uri: string, range?: ByteRange): Promise<Readable | undefined>;
  /** Removes the video that a job's result names, and what was stored beside it. */
  remove?(uri: string): Promise<void>;
  /** A link with which anybody can read what is stored under a key, for a while. Without it, a gateway serves images. */
  link?(key: string, validity: LinkValidity): Promise<string>;
  /** The same for the video that a job's result names; undefined when it is not in this storage. */
  linkTo?(uri: string, validity: LinkValidity): Promise<string | undefined>;
  /** What an ended attempt has left of a video, for storages that can read it back. */
  readPart?(key: string, part: string): Promise<Readable | undefined>;
  /** Writes, reads and removes a small file; throws a StorageUnusable that names the problem and the fix. */
  probe?(limitMs?: number): Promise<void>;
  /** Removes unfinished videos that were not written to for this long; returns how many. */
  sweep?(olderThanMs: number): Promise<number>;
  /**
   * The files whose keys begin with a prefix, folder by folder in the order of their names. Those that come or go meanwhile may
   * be in it or not.
   */
  list?(prefix: string): AsyncIterable<ListedFile>;
  /** Removes the file under a key, if there is one, and nothing else. */
  removeKey?(key: string): Promise<void>;
  /** Removes what attempts of an owner left unfinished under a key; returns how many. */
  removeParts?(key: string, owner: string): Promise<number>;
  /** When the file under a key was stored; undefined when there is none. */
  storedAt?(key: string): Promise<Date | undefined>;
  /** The key of the video that a job's result names; undefined when it is not in this storage. */
  keyOf?(uri: string): string | undefined;
}

/** A file of a storage. */
export interface ListedFile {
  key: string;
  storedAt: Date;
}

/** The first and the last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** When a link begins to work, and for how long. */
export interface LinkValidity {
  from: Date;
  seconds: number;
}

/** What a storage is told when a download starts. */
export interface ReceiveOptions {
  /** Whose video it is. Parts that earlier attempts of this owner left under the key are removed when this one ends. */
  owner: string;
  contentType: string;
  /** True when an earlier attempt may have left a part. */
  isRetry?: boolean;
}

/** A video on its way into the storage. End it with exactly one of its methods. */
export interface IncomingVideo {
  /** Takes the bytes in their order. Only the methods below may end it. */
  readonly sink: Writable;
  /** Stores the video under its key. Throws a StorageFault if another file is there, unless it is the same video. */
  publish(whole: WholeVideo): Promise<PublishedVideo>;
  /** Removes what has been received. */
  discard(): Promise<void>;
  /** For another attempt to continue: the name for `readPart`, and a method that leaves the bytes there. */
  readonly part?: { name: string; leave(): Promise<void> };
  /** Stores what has been received under another key, for a person to inspect. */
  setAside?(key: string): Promise<{ uri: string }>;
}

/** A video that is stored. */
export interface PublishedVideo {
  uri: string;
  /** True when the same video was under the key already: another job may have stored it. */
  wasThere?: boolean;
}

/** Size and digest of a complete download, for the storage to check. */
export interface WholeVideo {
  bytes: number;
  sha256: string;
}
