import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createPart, partsFolderOf, partsOf } from './part-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

/** What arrives while the disk writes is written at once after it: a few large writes take the least processor time. */
const BUFFERED_BYTES = 1024 * 1024;

/** Bytes that a part has, or had. */
export interface PartContent {
  bytes: number;
  sha256: string;
}

/** A video that is not published yet: a file on the disk of the worker, hashed and counted while it is written. */
export class PartFile {
  bytes = 0;
  private hash = createHash('sha256');
  private opened: { path: string; file: FileHandle } | undefined;
  private writing: Writable | undefined;
  /** The names of what earlier attempts left. */
  private left: string[] = [];

  /** What this attempt does not finish, the next one of the same owner finds. */
  constructor(
    private readonly storage: Pick<VideoStorage, 'partsFolder'>,
    private readonly owner: string,
  ) {}

  /** The name of the file; undefined while there is none. */
  get name(): string | undefined {
    return this.opened && basename(this.opened.path);
  }

  get sha256(): string {
    return this.hash.copy().digest('hex');
  }

  get waitsForDisk(): boolean {
    return this.writing?.writableNeedDrain ?? false;
  }

  /**
   * Begins with a copy of what an earlier attempt left, if that is still what it was. It does not append to that file, because
   * an attempt that Temporal took for dead may still be writing. The file stays until this attempt ends.
   */
  async takeOver(earlier: (PartContent & { name: string }) | undefined): Promise<boolean> {
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
    const { file } = await this.open();
    let position = this.bytes;
    const writing = new Writable({
      highWaterMark: BUFFERED_BYTES,
      writev: (batch, done) => {
        const chunks = batch.map(({ chunk }) => chunk);
        writeAll(file, chunks, position).then((end) => {
          position = end;
          done();
        }, done);
      },
    });
    const written = asStorageFault(() => finished(writing));
    // A disk that fails needs no more; the end of the writing reports it.
    written.catch(() => stream.destroy());
    this.writing = writing;
    try {
      for await (const chunk of stream) {
        check(chunk);
        this.bytes += chunk.length;
        this.hash.update(chunk);
        if (!writing.write(chunk)) await Promise.race([once(writing, 'drain'), written]);
      }
    } finally {
      writing.end();
      await written;
    }
  }

  /** Starts over: the bytes so far belong to another video, or cannot be resumed. */
  async clear(): Promise<void> {
    await asStorageFault(async () => this.opened?.file.truncate(0));
    this.bytes = 0;
    this.hash = createHash('sha256');
  }

  async close(): Promise<PartContent & { path: string }> {
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
    if (opened) await asStorageFault(() => rm(opened.path, { force: true }));
    await this.removeLeft();
  }

  private async copy({ name, bytes, sha256 }: PartContent & { name: string }): Promise<boolean> {
    const file = await open(join(partsFolderOf(this.storage), name), 'r');
    this.left.push(name);
    await this.append(file.createReadStream({ end: bytes - 1 }));
    return this.bytes === bytes && this.sha256 === sha256;
  }

  private async removeLeft(): Promise<void> {
    const folder = partsFolderOf(this.storage);
    // The sweeper removes what cannot be removed now.
    for (const name of this.left) await rm(join(folder, name), { force: true }).catch(() => undefined);
  }

  private async open(): Promise<{ path: string; file: FileHandle }> {
    this.opened ??= await asStorageFault(() => createPart(this.storage, this.owner));
    return this.opened;
  }
}

/** The system may write less than it was given. Returns where the next bytes go. */
async function writeAll(file: FileHandle, chunks: Buffer[], position: number): Promise<number> {
  const end = chunks.reduce((sum, { length }) => sum + length, position);
  for (let [at, rest] = [position, chunks]; ; ) {
    const { bytesWritten } = await file.writev(rest, at);
    at += bytesWritten;
    if (at === end) return end;
    rest = [Buffer.concat(rest).subarray(bytesWritten)];
  }
}
