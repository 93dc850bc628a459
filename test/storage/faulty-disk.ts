import type { EventEmitter } from 'node:events';
import type * as fs from 'node:fs/promises';

type Disk = typeof fs;
type Call = (...args: never[]) => Promise<unknown>;

/** Fails calls as a disk or another process does that no test can have on demand, and knows which files are open. */
class FaultyDisk {
  private readonly faults: { call: keyof Disk; code: string; isAt: (path: string) => boolean }[] = [];
  private readonly opened = new Set<{ path: string }>();
  private isNextListBackwards = false;

  /** The next such call fails, for a path that the test names if it names one. */
  failNext(call: keyof Disk, code: string, isAt: (path: string) => boolean = () => true): void {
    this.faults.push({ call, code, isAt });
  }

  /** The next folder that is read lists its entries from the last to the first: not all systems sort them. */
  listNextBackwards(): void {
    this.isNextListBackwards = true;
  }

  /** What was opened and is not closed. */
  openFiles(): string[] {
    return [...this.opened].map(({ path }) => path);
  }

  /** Forgets everything. Returns the faults that have not happened. */
  end(): string[] {
    this.opened.clear();
    return this.faults.splice(0).map(({ call, code }) => `${code} of ${call}`);
  }

  /** The functions of `node:fs/promises`, with the faults. */
  over(actual: Disk): Disk {
    const functions = Object.entries(actual).map(([name, original]) => [
      name,
      typeof original === 'function' ? this.wrap(name as keyof Disk, original as Call) : original,
    ]);
    return Object.fromEntries(functions);
  }

  private wrap(name: keyof Disk, original: Call): Call {
    return async (...args) => {
      const path = String(args[0]);
      const fault = this.faults.findIndex(({ call, isAt }) => call === name && isAt(path));
      if (fault >= 0) {
        const [{ code } = { code: '' }] = this.faults.splice(fault, 1);
        throw Object.assign(new Error(`${code}: ${name} '${path}'`), { code });
      }
      const result = await original(...args);
      if (name === 'readdir' && Array.isArray(result) && this.isNextListBackwards) {
        this.isNextListBackwards = false;
        return result.reverse();
      }
      // Handles emit events, which their type does not say.
      if (name === 'open') this.watch(result as EventEmitter, path);
      return result;
    };
  }

  private watch(file: EventEmitter, path: string): void {
    const entry = { path };
    this.opened.add(entry);
    // Not by its method `close`: streams close a handle without it.
    file.once('close', () => this.opened.delete(entry));
  }
}

/** One for a test file: `jest.mock` puts it under the product before the first test. */
export const disk = new FaultyDisk();
