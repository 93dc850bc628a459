import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { storageFault } from './storage-fault';

/** For whoever heeds it: few, large writes were measured fastest. */
const BUFFERED_BYTES = 4 * 1024 * 1024;
/** What is on its way to the disk while more comes need not be waited for at the end. */
const SYNC_EVERY_BYTES = 32 * 1024 * 1024;

/** Writes to a file that somebody else opens and closes, and counts. */
export class FileSink extends Writable {
  private bytes = 0;
  private syncedUpTo = 0;
  private syncing: Promise<void> | undefined;

  constructor(private readonly file: Pick<FileHandle, 'writev' | 'datasync'>) {
    super({ highWaterMark: BUFFERED_BYTES });
  }

  get bytesWritten(): number {
    return this.bytes;
  }

  /** The system tells of a block that it could not write once, to whoever syncs next: it may not be lost on the way. */
  override _final(done: (error?: Error) => void): void {
    Promise.resolve(this.syncing).then(
      () => done(),
      (error: unknown) => done(storageFault(error)),
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.append([chunk]).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this.append(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
  }

  private syncNowAndThen(): void {
    if (this.syncing || this.bytes - this.syncedUpTo < SYNC_EVERY_BYTES) return;
    this.syncedUpTo = this.bytes;
    this.syncing = this.file.datasync().then(() => {
      this.syncing = undefined;
    });
    // One that failed stays, and is told of at the end.
    this.syncing.catch(() => undefined);
  }

  private async append(chunks: Buffer[]): Promise<void> {
    try {
      let rest = chunks;
      while (rest.length > 0) {
        const { bytesWritten } = await this.file.writev(rest);
        this.bytes += bytesWritten;
        rest = dropBytes(rest, bytesWritten);
      }
      this.syncNowAndThen();
    } catch (error) {
      throw storageFault(error);
    }
  }
}

/** What a short write left over. */
function dropBytes(chunks: Buffer[], count: number): Buffer[] {
  let dropped = count;
  return chunks.flatMap((chunk) => {
    const part = Math.min(dropped, chunk.length);
    dropped -= part;
    return part === chunk.length ? [] : [chunk.subarray(part)];
  });
}
