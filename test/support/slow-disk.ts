import type * as fs from 'node:fs';

type Disk = typeof fs;
type Writev = (buffers: Buffer[], position: number) => Promise<{ bytesWritten: number }>;
type Written<Given> = (error: Error | null, bytesWritten?: number, given?: Given) => void;

/** A disk whose streams write as a test says. */
class SlowDisk {
  /** Called instead of each write, with the write. */
  onWrite: (write: Writev, buffers: Buffer[], position: number) => ReturnType<Writev> = (write, ...given) =>
    write(...given);

  reset(): void {
    Object.assign(this, new SlowDisk());
  }

  over(actual: Disk): Disk {
    const writev = (fd: number, buffers: Buffer[], position: number, done: Written<Buffer[]>) => {
      const write: Writev = (some, at) =>
        new Promise((resolve, reject) => {
          actual.writev(fd, some, at, (error, bytesWritten) =>
            error ? reject(error) : resolve({ bytesWritten }),
          );
        });
      this.onWrite(write, buffers, position).then(
        ({ bytesWritten }) => done(null, bytesWritten, buffers),
        (error: Error) => done(error),
      );
    };
    const write = (
      fd: number,
      buffer: Buffer,
      offset: number,
      length: number,
      position: number,
      done: Written<Buffer>,
    ) => {
      const some = [buffer.subarray(offset, offset + length)];
      writev(fd, some, position, (error, bytes) => done(error, bytes, buffer));
    };
    const { open, close } = actual;
    const createWriteStream = (path: string, options: object) =>
      actual.createWriteStream(path, { ...options, fs: { open, close, write, writev } } as never);
    return { ...actual, createWriteStream: createWriteStream as Disk['createWriteStream'] };
  }
}

/** One for a test file: `jest.mock` puts it under the product before the first test. */
export const disk = new SlowDisk();

export const ioError = (code: string) => Object.assign(new Error(`${code}: the disk says so`), { code });
