import { createHash } from 'node:crypto';
import { type FileHandle, lstat, open, readdir, truncate, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { inFolder, isPartName, markOf, newPartName, unless } from './disk-files';
import type { VideoStorage } from './storage';
import { asStorageFault, StorageFault } from './storage-fault';

/** Other processes may remove files meanwhile. */
const unlessGone = unless(['ENOENT'], undefined);

type PartsFolder = Pick<VideoStorage, 'partsFolder'>;

/** Where videos are written before they are published. */
const partsFolderOf = ({ partsFolder = tmpdir() }: PartsFolder) => partsFolder;

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

/** Bytes that a part has, or had. */
export interface PartContent {
  /** The name of the file. */
  part: string;
  bytes: number;
  sha256: string;
}

/** A video that is not published yet: a file on the disk of the worker, hashed and counted while it is written. */
export class PartFile {
  readonly path: string;
  bytes = 0;
  private hash = createHash('sha256');
  /** The names of what earlier attempts left. */
  private left: string[] = [];

  /** The next attempt of the same owner finds what this one does not finish. */
  constructor(
    private readonly storage: PartsFolder,
    private readonly owner: string,
  ) {
    this.path = join(partsFolderOf(storage), newPartName(owner));
  }

  /** What is in the file, also while more comes. */
  get content(): PartContent {
    const { path, bytes, hash } = this;
    return { part: basename(path), bytes, sha256: hash.copy().digest('hex') };
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
    const file = await asStorageFault(() => this.open());
    try {
      const { size } = await file.stat();
      if (size !== this.bytes) throw new StorageFault('its partial file was removed or changed');
      for await (const chunk of stream) {
        check(chunk);
        await asStorageFault(() => file.writeFile(chunk));
        this.bytes += chunk.length;
        this.hash.update(chunk);
      }
    } finally {
      // A disk may report only now that it is full.
      await asStorageFault(() => file.close());
    }
  }

  /** Starts over: the bytes so far belong to another video, or cannot be resumed. */
  async clear(): Promise<void> {
    await asStorageFault(() => truncate(this.path).catch(unlessGone));
    this.bytes = 0;
    this.hash = createHash('sha256');
  }

  /** Removes what earlier attempts left. The janitor removes what cannot be removed now. */
  async removeLeft(): Promise<void> {
    const folder = partsFolderOf(this.storage);
    for (const name of this.left) await unlink(join(folder, name)).catch(() => undefined);
  }

  async remove(): Promise<void> {
    await asStorageFault(() => unlink(this.path).catch(unlessGone));
    await this.removeLeft();
  }

  private async copy({ part, bytes, sha256 }: PartContent): Promise<boolean> {
    const file = await open(join(partsFolderOf(this.storage), part));
    this.left.push(part);
    await this.append(file.createReadStream({ end: bytes - 1 }));
    const copied = this.content;
    return copied.bytes === bytes && copied.sha256 === sha256;
  }

  /** In a folder that others share, only this user may read it. */
  private open(): Promise<FileHandle> {
    const mode = this.storage.partsFolder === undefined ? 0o600 : 0o666;
    return inFolder(partsFolderOf(this.storage), () => open(this.path, 'a', mode));
  }
}
