import type { Readable } from 'node:stream';

/** Where videos are stored. Under its key a video is either complete or not there at all. */
export interface VideoStorage {
  /**
   * Stores a complete file of this machine under a key; it may move the file or copy it. Throws a StorageFault if another
   * file is there, unless it is the same video.
   */
  publishFile(path: string, key: string, file: FileToPublish): Promise<{ uri: string }>;
  /** Stores a small file next to the videos, replacing an earlier one. */
  write(key: string, content: string | Buffer, contentType: string): Promise<{ uri: string }>;
  /**
   * Stores a small JSON text under a free key, whole or not at all; false when something is there already. It may be this
   * very text: a call that is repeated after a lost answer finds its own. After an error it may be there too.
   */
  create(key: string, content: string): Promise<boolean>;
  /** What is stored under a key, or a part of it; undefined when nothing is. Anything there but a regular file is an error. */
  read(key: string, range?: ByteRange): Promise<Readable | undefined>;
  /** A link with which anybody can read what is stored under a key, for a while. Without it, a gateway serves images. */
  link?(key: string, validity: LinkValidity): Promise<string>;
  /** The folder in which videos are written before they are published; that of temporary files by default. */
  readonly partsFolder?: string | undefined;
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
  /** The key of the video that a job's result names; undefined when it is not in this storage. */
  keyOf?(uri: string): string | undefined;
}

/** A storage that can find and remove what jobs left in it. One of the user's own may not be able to. */
export type RemovingStorage = VideoStorage & Required<Pick<VideoStorage, 'list' | 'removeKey' | 'keyOf'>>;

export function canRemove(storage: VideoStorage): storage is RemovingStorage {
  return [storage.list, storage.removeKey, storage.keyOf].every((method) => method !== undefined);
}

/** The video that a job's result names, whole or in part; undefined when it is not in this storage. */
export async function readStoredVideo(
  storage: Pick<VideoStorage, 'read' | 'keyOf'>,
  uri: string,
  range?: ByteRange,
): Promise<Readable | undefined> {
  const key = storage.keyOf?.(uri);
  return key === undefined ? undefined : storage.read(key, range);
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

/** What a storage is told about a file that it publishes. */
export interface FileToPublish {
  bytes: number;
  sha256: string;
  contentType: string;
  /** Stops an upload. */
  signal?: AbortSignal;
}

/** How to reach S3 or a compatible server. The AWS SDK and its environment decide what is left out. */
export interface S3Connection {
  endpoint?: string | undefined;
  region?: string | undefined;
  /** True for servers that expect the bucket in the path instead of the host name. */
  pathStyle?: boolean | undefined;
  credentials?: S3Credentials | undefined;
}

/** Fixed credentials for S3. Without them the AWS SDK finds its own. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}
