import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Larger than any picture, and than the tables of four hours of film. */
const LARGEST_READ_BYTES = 32 * 1024 * 1024;

/**
 * A file that is read in a bounded number of parts, none of them larger than a picture may be: a hostile one can be read in
 * circles, or have any number of parts, of any size.
 */
export class FileBytes {
  readonly size: number;
  /** How many reads a good file takes at most. */
  readsLeft = 0;
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, 'r');
    this.size = fstatSync(this.file).size;
  }

  /** As many of these bytes as the file has. */
  read(start: number, end: number): Buffer {
    const length = Math.max(0, Math.min(end, this.size) - start);
    if (this.readsLeft-- <= 0 || length > LARGEST_READ_BYTES) throw new Error('too much to read');
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.file, bytes, 0, length, start));
  }

  close(): void {
    closeSync(this.file);
  }
}

/** What the outermost parts of a file say about it, without its pictures. */
export interface Outline {
  /** Why it is no complete video: one clause for the user, such as `its moov box is missing`. */
  problem?: string;
  /** The file states where it ends, and ends there. */
  isEndChecked?: boolean;
}
