import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { errorCode } from '../contract/error-code';
import { inFolder } from './disk-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

type PartsFolder = Pick<VideoStorage, 'partsFolder'>;

// Long enough that two owners in one folder never get the same mark.
const MARK_DIGITS = 16;

const PART_NAME = new RegExp(
  `^\\.videogen-[0-9a-f]{${MARK_DIGITS}}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part$`,
);

/** What the names of one owner's parts have in common. */
function markOf(owner: string): string {
  return `.videogen-${createHash('sha256').update(owner).digest('hex').slice(0, MARK_DIGITS)}-`;
}

/** Nobody else has this name: an attempt that Temporal took for dead may still write to its own part. */
export function newPartName(owner: string): string {
  return `${markOf(owner)}${randomUUID()}.part`;
}

export function isPartName(name: string): boolean {
  return PART_NAME.test(name);
}

/** Where videos are written before they are published. */
export function partsFolderOf({ partsFolder = tmpdir() }: PartsFolder): string {
  return partsFolder;
}

/** A file for a video that is not published yet. In a folder that others share, only this user may read it. */
export async function createPart(
  storage: PartsFolder,
  owner: string,
): Promise<{ path: string; file: FileHandle }> {
  const folder = partsFolderOf(storage);
  const path = join(folder, newPartName(owner));
  const mode = storage.partsFolder === undefined ? 0o600 : 0o666;
  return { path, file: await inFolder(folder, () => open(path, 'wx', mode)) };
}

/** Removes unfinished videos that were not written to for this long, from the storage and from this machine. */
export async function sweepParts(storage: VideoStorage, olderThanMs: number): Promise<number> {
  const inStorage = (await storage.sweep?.(olderThanMs)) ?? 0;
  if (storage.partsFolder !== undefined) return inStorage;
  const here = asStorageFault(() => removePartsBefore(Date.now() - olderThanMs, tmpdir(), { isDeep: false }));
  return inStorage + (await here);
}

/** Removes parts that were last written before a time, from a folder and those inside; does not follow links. */
export async function removePartsBefore(
  timeMs: number,
  folder: string,
  { isDeep = true } = {},
): Promise<number> {
  let removed = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(unless('ENOENT', []))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && isDeep) {
      // A folder of another user, such as `lost+found`, contains no parts.
      removed += await removePartsBefore(timeMs, path).catch(unless(['EACCES', 'EPERM'], 0));
    } else if (entry.isFile() && isPartName(entry.name)) {
      const found = await stat(path).catch(unless('ENOENT', undefined));
      if (found === undefined || found.mtimeMs >= timeMs) continue;
      await rm(path, { force: true });
      removed += 1;
    }
  }
  return removed;
}

/** Other processes may remove files meanwhile. */
function unless<T>(codes: string | string[], instead: T): (error: unknown) => T {
  return (error) => {
    if ([codes].flat().includes(String(errorCode(error)))) return instead;
    throw error;
  };
}

/** A few large writes take the least processor time. What a slow source sends is written after a moment. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_MS = 250;
/** A million chunks of one byte would take a hundred times their bytes. */
const BATCH_CHUNKS = 1_024;

/** Bytes that a part has, or had. */
export interface PartContent {
  /** The name of the file. */
  part: string;
  bytes: number;
  sha256: string;
}

/** A video that is not published yet: a file on the disk of the worker, hashed and counted while it is written. */
export class PartFile {
  bytes = 0;
  /** What is in the file, while more is being written. */
  onDisk: PartContent | undefined;
  waitsForDisk = false;
  private hash = createHash('sha256');
  private opened: { path: string; file: FileHandle } | undefined;
  /** The names of what earlier attempts left. */
  private left: string[] = [];

  /** The next attempt of the same owner finds what this one does not finish. */
  constructor(
    private readonly storage: PartsFolder,
    private readonly owner: string,
  ) {}

  private get sha256(): string {
    return this.hash.copy().digest('hex');
  }

  /**
   * Begins with a copy of what an earlier attempt left, if that is still what it was. It does not append to that file, because
   * an attempt that Temporal took for dead may still be writing. The file stays until this attempt ends.
   */
  async takeOver(earlier: PartContent | undefined): Promise<boolean> {
    const names = await readdir(partsFolderOf(this.storage)).catch(() => []);
    this.left = names.filter((name) => isPartName(name) && name.startsWith(markOf(this.owner)));
    const hasCopied = earlier !== undefined && (await this.copy(earlier).catch(() => false));
    if (!hasCopied) {
      await this.clear();
      await this.removeLeft();
    }
    return hasCopied;
  }

  /** Appends a stream. What came of a stream that breaks off is written too, up to a chunk that the check refuses. */
  async append(stream: Readable, check: (chunk: Buffer) => void = () => undefined): Promise<void> {
    const { path, file } = await this.open();
    let batch: Buffer[] = [];
    let [batchBytes, flushedAtMs] = [0, 0];
    let writing = Promise.resolve();
    const flush = async () => {
      const [chunks, position] = [batch, this.bytes - batchBytes];
      const content = { part: basename(path), bytes: this.bytes, sha256: this.sha256 };
      [batch, batchBytes] = [[], 0];
      this.waitsForDisk = true;
      await writing;
      this.waitsForDisk = false;
      flushedAtMs = performance.now();
      writing = asStorageFault(() => writeAll(file, chunks, position)).then(() => {
        this.onDisk = content;
      });
      // The next flush reports it.
      writing.catch(() => undefined);
    };
    try {
      for await (const chunk of stream) {
        check(chunk);
        this.bytes += chunk.length;
        this.hash.update(chunk);
        batch.push(chunk);
        batchBytes += chunk.length;
        const isFull = batchBytes >= BATCH_BYTES || batch.length >= BATCH_CHUNKS;
        if (isFull || performance.now() - flushedAtMs >= BATCH_MS) await flush();
      }
    } finally {
      await flush();
      await writing;
    }
  }

  /** Starts over: the bytes so far belong to another video, or cannot be resumed. */
  async clear(): Promise<void> {
    await asStorageFault(async () => this.opened?.file.truncate(0));
    this.bytes = 0;
    this.onDisk = undefined;
    this.hash = createHash('sha256');
  }

  async close(): Promise<{ path: string; bytes: number; sha256: string }> {
    const { path, file } = await this.open();
    await asStorageFault(() => file.close());
    return { path, bytes: this.bytes, sha256: this.sha256 };
  }

  /** Closes the file for the next attempt, in place of what earlier ones left. */
  async leave(): Promise<void> {
    await this.close();
    await this.removeLeft();
  }

  async remove(): Promise<void> {
    const { opened } = this;
    await opened?.file.close().catch(() => undefined);
    if (opened) await asStorageFault(() => unlink(opened.path).catch(unless('ENOENT', undefined)));
    await this.removeLeft();
  }

  private async copy({ part, bytes, sha256 }: PartContent): Promise<boolean> {
    const file = await open(join(partsFolderOf(this.storage), part), 'r');
    this.left.push(part);
    await this.append(file.createReadStream({ end: bytes - 1 }));
    return this.bytes === bytes && this.sha256 === sha256;
  }

  private async removeLeft(): Promise<void> {
    const folder = partsFolderOf(this.storage);
    // The sweeper removes what cannot be removed now.
    for (const name of this.left) await unlink(join(folder, name)).catch(() => undefined);
  }

  private async open(): Promise<{ path: string; file: FileHandle }> {
    this.opened ??= await asStorageFault(() => createPart(this.storage, this.owner));
    return this.opened;
  }
}

async function writeAll(file: FileHandle, chunks: Buffer[], position: number): Promise<void> {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  for (let [left, rest] = [bytes, chunks]; left > 0; ) {
    const { bytesWritten } = await file.writev(rest, position + bytes - left);
    left -= bytesWritten;
    // The system may write less than it was given.
    if (left > 0) rest = [Buffer.concat(rest).subarray(bytesWritten)];
  }
}
