import type * as fs from 'node:fs/promises';

type Disk = typeof fs;
type Writev = (buffers: Buffer[], position: number) => Promise<{ bytesWritten: number }>;

/** A disk whose open files write and sync as a test says. */
class SlowDisk {
  /** Called instead of each write, with the write. */
  onWrite: (write: Writev, buffers: Buffer[], position: number) => ReturnType<Writev> = (write, ...given) =>
    write(...given);
  onSync: () => Promise<void> = async () => undefined;

  reset(): void {
    Object.assign(this, new SlowDisk());
  }

  over(actual: Disk): Disk {
    const open = async (...given: Parameters<Disk['open']>) => {
      const file = await actual.open(...given);
      const write = file.writev.bind(file) as unknown as Writev;
      const datasync = file.datasync.bind(file);
      return Object.assign(file, {
        writev: (buffers: Buffer[], position: number) => this.onWrite(write, buffers, position),
        datasync: async () => {
          await this.onSync();
          await datasync();
        },
      });
    };
    return { ...actual, open };
  }
}

/** One for a test file: `jest.mock` puts it under the product before the first test. */
export const disk = new SlowDisk();

export const ioError = (code: string) => Object.assign(new Error(`${code}: the disk says so`), { code });
