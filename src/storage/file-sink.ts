import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { storageFault } from './storage-fault';

/** For writers that respect backpressure: a few large writes were measured to be fastest. */
const BUFFERED_BYTES = 4 * 1024 * 1024;
/** Bytes that are synced while more come need no waiting at the end. */
const SYNC_EVERY_BYTES = 32 * 1024 * 1024;

/** Writes to an open file and counts the bytes. Its owner closes the file. */
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

  /** The system reports a block that it could not write only once, to the next sync, so that error must not get lost. */
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

  private syncIfDue(): void {
    if (this.syncing || this.bytes - this.syncedUpTo < SYNC_EVERY_BYTES) return;
    this.syncedUpTo = this.bytes;
    this.syncing = this.file.datasync().then(() => {
      this.syncing = undefined;
    });
    // A failed sync stays in `syncing`, and `_final` reports it.
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
      this.syncIfDue();
    } catch (error) {
      throw storageFault(error);
    }
  }
}

/** What a short write did not write. */
function dropBytes(chunks: Buffer[], count: number): Buffer[] {
  let dropped = count;
  return chunks.flatMap((chunk) => {
    const part = Math.min(dropped, chunk.length);
    dropped -= part;
    return part === chunk.length ? [] : [chunk.subarray(part)];
  });
}
