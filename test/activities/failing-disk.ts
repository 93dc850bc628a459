import type * as fs from 'node:fs/promises';

type Disk = typeof fs;
type Open = (...args: Parameters<Disk['open']>) => Promise<fs.FileHandle>;

/** A disk whose writes end as a test says. */
class FailingDisk {
  /** Called after each write to a file, with its bytes. The write lasts as long as this does. */
  onWrite: (written: Buffer) => void | Promise<void> = () => undefined;

  reset(): void {
    Object.assign(this, new FailingDisk());
  }

  over(actual: Disk): Disk {
    const open: Open = async (...args) => {
      const file = await actual.open(...args);
      const writeFile = file.writeFile.bind(file);
      return Object.assign(file, {
        writeFile: async (data: Buffer) => {
          await writeFile(data);
          await this.onWrite(data);
        },
      });
    };
    return { ...actual, open: open as Disk['open'] };
  }
}

/** One for a test file: `jest.mock` puts it under the product before the first test. */
export const disk = new FailingDisk();

export const ioError = (code: string) => Object.assign(new Error(`${code}: the disk says so`), { code });
