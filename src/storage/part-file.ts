import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { type FileHandle, lstat, open, readdir, truncate, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { errorCode } from '../contract/error-code';
import { inFolder, isPartName, markOf, newPartName } from './disk-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

type PartsFolder = Pick<VideoStorage, 'partsFolder'>;

/** Where videos are written before they are published. */
const partsFolderOf = ({ partsFolder = tmpdir() }: PartsFolder) => partsFolder;

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
  const here = asStorageFault(async () => removeOldParts(tmpdir(), await readdir(tmpdir()), olderThanMs));
  return inStorage + (await here);
}

/** Removes the parts among these files that were not written to for this long; returns how many. */
export async function removeOldParts(
  folder: string,
  names: Iterable<string> | AsyncIterable<string>,
  olderThanMs: number,
): Promise<number> {
  const beforeMs = Date.now() - olderThanMs;
  let removed = 0;
  for await (const name of names) {
    if (!isPartName(basename(name))) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(unlessGone);
    if (!found?.isFile() || found.mtimeMs >= beforeMs) continue;
    await unlink(path).catch(unlessGone);
    removed += 1;
  }
  return removed;
}

/** Other processes may remove files meanwhile. */
function unlessGone(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}

/** What waits for the disk. Chunks of one byte take a hundred times their bytes. */
const BUFFERED_BYTES = 128 * 1024;
/** How often `onDisk` is brought up to date. */
const NOTE_MS = 250;

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
  private hash = createHash('sha256');
  private path: string | undefined;
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
    const path = await this.create();
    const disk = createWriteStream(path, { flags: 'r+', start: this.bytes, highWaterMark: BUFFERED_BYTES });
    const written = asStorageFault(() => finished(disk));
    // It is awaited below, also after a chunk that is refused.
    written.catch(() => undefined);
    const content = () => ({ part: basename(path), bytes: this.bytes, sha256: this.sha256 });
    let notedAtMs = 0;
    try {
      for await (const chunk of stream) {
        check(chunk);
        this.bytes += chunk.length;
        this.hash.update(chunk);
        const isNoted = performance.now() - notedAtMs >= NOTE_MS;
        if (isNoted) notedAtMs = performance.now();
        const note = isNoted ? content() : undefined;
        const hasRoom = disk.write(chunk, (error) => {
          if (!error) this.onDisk = note ?? this.onDisk;
        });
        if (!hasRoom) await Promise.race([once(disk, 'drain'), written]);
      }
    } finally {
      disk.end();
      await written;
      this.onDisk = content();
    }
  }

  /** Starts over: the bytes so far belong to another video, or cannot be resumed. */
  async clear(): Promise<void> {
    const { path } = this;
    if (path !== undefined) await asStorageFault(() => truncate(path));
    this.bytes = 0;
    this.onDisk = undefined;
    this.hash = createHash('sha256');
  }

  /** All that has arrived. */
  async content(): Promise<{ path: string; bytes: number; sha256: string }> {
    return { path: await this.create(), bytes: this.bytes, sha256: this.sha256 };
  }

  /** Removes what earlier attempts left. The sweeper removes what cannot be removed now. */
  async removeLeft(): Promise<void> {
    const folder = partsFolderOf(this.storage);
    for (const name of this.left) await unlink(join(folder, name)).catch(() => undefined);
  }

  async remove(): Promise<void> {
    const { path } = this;
    if (path !== undefined) await asStorageFault(() => unlink(path).catch(unlessGone));
    await this.removeLeft();
  }

  private async copy({ part, bytes, sha256 }: PartContent): Promise<boolean> {
    const file = await open(join(partsFolderOf(this.storage), part));
    this.left.push(part);
    await this.append(file.createReadStream({ end: bytes - 1 }));
    return this.bytes === bytes && this.sha256 === sha256;
  }

  private async create(): Promise<string> {
    if (this.path === undefined) {
      const { path, file } = await asStorageFault(() => createPart(this.storage, this.owner));
      await file.close();
      this.path = path;
    }
    return this.path;
  }
}
