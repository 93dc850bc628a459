import { createHash } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createPart, partsFolderOf, partsOf, unlessGone } from './part-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

/** A few large writes take the least processor time. What a slow source sends is written after a moment. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_MS = 250;
/** A million chunks of one byte would take a hundred times their bytes. */
const BATCH_CHUNKS = 1_024;
/** Bytes that are synced while more come need no waiting at the end. */
const SYNC_EVERY_BYTES = 32 * 1024 * 1024;

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
  /** What is on the disk, while more is being written. */
  onDisk: PartContent | undefined;
  waitsForDisk = false;
  private hash = createHash('sha256');
  private opened: { path: string; file: FileHandle } | undefined;
  private unsyncedBytes = 0;
  private syncing: Promise<void> | undefined;
  /** The names of what earlier attempts left. */
  private left: string[] = [];

  /** What this attempt does not finish, the next one of the same owner finds. */
  constructor(
    private readonly storage: Pick<VideoStorage, 'partsFolder'>,
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
    this.left = await partsOf(this.storage, this.owner).catch(() => []);
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
    const part = basename(path);
    let batch: Buffer[] = [];
    let [batchBytes, batchAtMs] = [0, 0];
    let writing = Promise.resolve();
    const flush = async () => {
      const [chunks, position] = [batch, this.bytes - batchBytes];
      const content = { part, bytes: this.bytes, sha256: this.sha256 };
      [batch, batchBytes] = [[], 0];
      this.waitsForDisk = true;
      await writing;
      this.waitsForDisk = false;
      batchAtMs = performance.now();
      writing = asStorageFault(() => this.writeAll(file, chunks, position)).then(() => {
        this.onDisk = content;
      });
      // The next flush reports it.
      writing.catch(() => undefined);
    };
    try {
      await eachChunk(stream, (chunk) => {
        check(chunk);
        this.bytes += chunk.length;
        this.hash.update(chunk);
        batch.push(chunk);
        batchBytes += chunk.length;
        const isFull = batchBytes >= BATCH_BYTES || batch.length >= BATCH_CHUNKS;
        return isFull || performance.now() - batchAtMs >= BATCH_MS ? flush() : undefined;
      });
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
    await asStorageFault(async () => {
      await this.syncing;
      await file.close();
    });
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
    if (opened) await asStorageFault(() => unlink(opened.path).catch(unlessGone(undefined)));
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

  private async writeAll(file: FileHandle, chunks: Buffer[], position: number): Promise<void> {
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
    for (let [left, rest] = [bytes, chunks]; left > 0; ) {
      const { bytesWritten } = await file.writev(rest, position + bytes - left);
      left -= bytesWritten;
      // The system may write less than it was given.
      if (left > 0) rest = [Buffer.concat(rest).subarray(bytesWritten)];
    }
    this.unsyncedBytes += bytes;
    // A file that is uploaded need not outlive a power cut.
    if (this.storage.partsFolder === undefined || this.unsyncedBytes < SYNC_EVERY_BYTES) return;
    this.unsyncedBytes = 0;
    // The system reports a block that it could not write only once: the next sync or `close` tells it.
    await this.syncing;
    this.syncing = file.datasync();
    this.syncing.catch(() => undefined);
  }
}

/** Pauses the stream only while there is something to wait for: a loop that awaits every chunk takes a fifth more processor time. */
function eachChunk(stream: Readable, take: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    if (stream.destroyed) reject(stream.errored ?? new Error('the stream was closed'));
    stream.on('data', (chunk: Buffer) => {
      try {
        const wait = take(chunk);
        if (wait) stream.pause();
        wait?.then(() => stream.resume(), reject);
      } catch (error) {
        reject(error);
      }
    });
    stream.once('end', resolve).once('error', reject);
    stream.once('close', () => reject(new Error('the stream was closed before its end')));
  }).finally(() => stream.destroy());
}
