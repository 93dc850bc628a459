import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { StorageFault } from './storage';

/** Gathers what the network delivers into few, large writes; measured faster than a pipe through a hashing Transform. */
const BUFFERED_BYTES = 4 * 1024 * 1024;

/** Writes to a file, counting and hashing in the same pass. */
export class HashingFile extends Writable {
  private readonly hash = createHash('sha256');
  private bytes = 0;

  constructor(
    private readonly file: Pick<FileHandle, 'writev'>,
    private readonly onBytes?: (bytesSoFar: number) => void,
  ) {
    super({ highWaterMark: BUFFERED_BYTES });
  }

  /** Ends the hash: to be asked once, after the stream has finished. */
  written(): { bytes: number; sha256: string } {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.append([chunk]).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this.append(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
  }

  private async append(chunks: Buffer[]): Promise<void> {
    for (const chunk of chunks) this.hash.update(chunk);
    try {
      let rest = chunks;
      while (rest.length > 0) {
        const { bytesWritten } = await this.file.writev(rest);
        this.bytes += bytesWritten;
        rest = dropBytes(rest, bytesWritten);
      }
    } catch (error) {
      throw new StorageFault(error instanceof Error ? error.message : String(error), { cause: error });
    }
    this.onBytes?.(this.bytes);
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
