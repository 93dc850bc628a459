import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { activityInfo } from '@temporalio/activity';
import { describeHead, HEAD_TO_SNIFF, sniffContainer } from '../../src/media/sniff-container';
import type { VideoBody } from '../../src/service/open-video';
import { ServiceFault } from '../../src/service/service-fault';
import { createPart, isPartName, partsFolderOf, partsOf } from '../../src/storage/part-files';
import type { VideoStorage } from '../../src/storage/storage';
import { asStorageFault } from '../../src/storage/storage-fault';
import { BadVideo, TooManyBytes } from '../to-failure';

/** A few large writes take the least processor time. What a slow source sends is written after a moment. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_MS = 250;
/** A million chunks of one byte would take a hundred times their bytes. */
const BATCH_CHUNKS = 1_024;
/** Bytes that are synced while more come need no waiting at the end. */
const SYNC_EVERY_BYTES = 32 * 1024 * 1024;

/** Which file has how much of a video, so that the next attempt on the same disk can check it and resume. */
export interface PartNote {
  part: string;
  bytes: number;
  /** Of those bytes. */
  sha256: string;
  /** The ETag or date with which a server resumes the same video. */
  validator: string;
}

export interface PartOptions {
  storage: Pick<VideoStorage, 'partsFolder'>;
  /** Whose video it is: what this attempt does not finish, the next one of the same owner finds. */
  owner: string;
  largestBytes: number;
}

/** What has arrived of a video: a file on the disk of the worker, hashed and counted while it is written. */
export class PartFile {
  /** How many bytes have arrived, and the length that the server announced. */
  bytes = 0;
  of: number | undefined;
  /** Meanwhile the source is not too slow. */
  waitsForDisk = false;
  /** The first bytes, which show the container. */
  head = Buffer.alloc(0);
  private validator: string | undefined;
  private hash = createHash('sha256');
  private opened: { path: string; file: FileHandle } | undefined;
  private onDisk: { bytes: number; sha256: string } | undefined;
  private unsyncedBytes = 0;
  private syncing: Promise<void> | undefined;
  /** The names of what earlier attempts left. */
  private left: string[] = [];

  constructor(private readonly options: PartOptions) {}

  /** Where a server may resume, if it still has the same video. */
  get resumePoint(): { offset: number; validator: string } | undefined {
    if (this.bytes === 0 || this.validator === undefined) return undefined;
    return { offset: this.bytes, validator: this.validator };
  }

  /** For the heartbeat: what is on the disk, not what is still being written. */
  get note(): PartNote | undefined {
    const { opened, onDisk, validator } = this;
    if (!opened || !onDisk || validator === undefined || !this.isWorthKeeping) return undefined;
    return { part: basename(opened.path), ...onDisk, validator };
  }

  /**
   * Continues with a copy of what an earlier attempt left. It does not append to that file, because an attempt that Temporal
   * took for dead may still be writing. The file stays until this attempt ends: until then the note of it may be the last.
   */
  async takeOver(note: PartNote | undefined): Promise<void> {
    const { storage, owner } = this.options;
    this.left = await partsOf(storage, owner).catch(() => []);
    const earlier = note && (await open(join(partsFolderOf(storage), note.part), 'r').catch(() => undefined));
    if (note && earlier) {
      this.left.push(note.part);
      const isCopied = await this.write(earlier.createReadStream({ end: note.bytes - 1 })).then(
        () => this.bytes === note.bytes && this.digest() === note.sha256,
        () => false,
      );
      if (isCopied) this.validator = note.validator;
      else await this.startOver();
    }
    if (this.validator === undefined) await this.removeLeft();
  }

  /** Prepares for the stream of a server: resumes, or starts over. */
  async expect({ offset, bytes, validator }: VideoBody): Promise<void> {
    const hasChanged = offset > 0 && this.of !== undefined && bytes !== undefined && bytes !== this.of;
    if (offset !== this.bytes || hasChanged) await this.startOver();
    if (hasChanged) throw new ServiceFault('cut', { message: 'the length of the video has changed' });
    const { largestBytes } = this.options;
    if (bytes !== undefined && bytes > largestBytes) throw new TooManyBytes(largestBytes);
    this.of = bytes;
    this.validator = validator;
  }

  /** Writes a stream in batches, each while the next one comes. What came of a stream that breaks off is written too. */
  async write(stream: Readable): Promise<void> {
    const { file } = await this.open();
    let batch: Buffer[] = [];
    let batchBytes = 0;
    let batchAtMs = 0;
    let writing = Promise.resolve();
    const flush = async () => {
      this.waitsForDisk = true;
      await writing;
      this.waitsForDisk = false;
      const upToHere = { bytes: this.bytes, sha256: this.digest() };
      writing = asStorageFault(() => this.writeAll(file, batch, batchBytes)).then(() => {
        this.onDisk = upToHere;
      });
      // The next flush reports it.
      writing.catch(() => undefined);
      batch = [];
      batchBytes = 0;
      batchAtMs = performance.now();
    };
    try {
      await eachChunk(stream, (chunk) => {
        batch.push(chunk);
        batchBytes += chunk.length;
        this.take(chunk);
        const isFull = batchBytes >= BATCH_BYTES || batch.length >= BATCH_CHUNKS;
        return isFull || performance.now() - batchAtMs >= BATCH_MS ? flush() : undefined;
      });
    } finally {
      await flush();
      await writing;
    }
  }

  /** Whatever has arrived, closed. */
  async close(): Promise<{ path: string; bytes: number; sha256: string }> {
    const { path, file } = await this.open();
    await asStorageFault(async () => {
      await this.syncing;
      await file.close();
    });
    return { path, bytes: this.bytes, sha256: this.digest() };
  }

  /** Leaves the file for the next attempt. Returns the note that finds it; undefined when no server could resume it. */
  async leave(): Promise<PartNote | undefined> {
    const { bytes, validator } = this;
    if (validator === undefined || !this.isWorthKeeping) {
      await this.remove();
      return undefined;
    }
    const { path, sha256 } = await this.close();
    await this.removeLeft();
    return { part: basename(path), bytes, sha256, validator };
  }

  async remove(): Promise<void> {
    const { opened } = this;
    await opened?.file.close().catch(() => undefined);
    if (opened) await asStorageFault(() => rm(opened.path, { force: true }));
    await this.removeLeft();
  }

  private async removeLeft(): Promise<void> {
    const folder = partsFolderOf(this.options.storage);
    // The sweeper removes what cannot be removed now.
    for (const name of this.left) await rm(join(folder, name), { force: true }).catch(() => undefined);
  }

  /** A few bytes come again as quickly. */
  private get isWorthKeeping(): boolean {
    return this.head.length === HEAD_TO_SNIFF;
  }

  private take(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.options.largestBytes) throw new TooManyBytes(this.options.largestBytes);
    this.hash.update(chunk);
    if (this.head.length >= HEAD_TO_SNIFF) return;
    this.head = Buffer.concat([this.head, chunk.subarray(0, HEAD_TO_SNIFF - this.head.length)]);
    // What does not begin like a video is not read to its end.
    if (this.head.length === HEAD_TO_SNIFF && sniffContainer(this.head) === undefined)
      throw new BadVideo(describeHead(this.head));
  }

  private digest(): string {
    return this.hash.copy().digest('hex');
  }

  private async open(): Promise<{ path: string; file: FileHandle }> {
    const { storage, owner } = this.options;
    this.opened ??= await asStorageFault(() => createPart(storage, owner));
    return this.opened;
  }

  /** The bytes so far belong to another video, or cannot be resumed. */
  private async startOver(): Promise<void> {
    await asStorageFault(async () => this.opened?.file.truncate(0));
    this.bytes = 0;
    this.of = undefined;
    this.validator = undefined;
    this.hash = createHash('sha256');
    this.head = Buffer.alloc(0);
    this.onDisk = undefined;
  }

  /** Called while nothing more comes, so the batch is the end of what has arrived. */
  private async writeAll(file: FileHandle, batch: Buffer[], bytes: number): Promise<void> {
    const position = this.bytes - bytes;
    let rest = batch;
    for (let left = bytes; left > 0; ) {
      const { bytesWritten } = await file.writev(rest, position + bytes - left);
      left -= bytesWritten;
      // The system may write less than it was given.
      if (left > 0) rest = [Buffer.concat(rest).subarray(bytesWritten)];
    }
    this.unsyncedBytes += bytes;
    // A file that is uploaded need not outlive a power cut.
    if (this.options.storage.partsFolder === undefined || this.unsyncedBytes < SYNC_EVERY_BYTES) return;
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

/** The note of the attempt before this one, if it left one. */
export function readPartNote(): PartNote | undefined {
  const { part, bytes, sha256, validator }: Partial<Record<keyof PartNote, unknown>> = Object(
    activityInfo().heartbeatDetails,
  );
  if (typeof part !== 'string' || !isPartName(part) || typeof bytes !== 'number' || !(bytes > 0))
    return undefined;
  if (typeof sha256 !== 'string' || typeof validator !== 'string') return undefined;
  return { part, bytes, sha256, validator };
}
