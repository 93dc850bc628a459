import type * as fs from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';

type Disk = typeof fs;
type Open = (...args: Parameters<Disk['open']>) => Promise<fs.FileHandle>;

/** A file, by whatever names. */
interface Content {
  bytes: number;
  /** Bytes that a power cut cannot take. */
  syncedBytes: number;
}

/** Names of files that nobody reads after a power cut. */
const TEMPORARY = '.part';

/** What a name may stand for after a power cut: one of these, and `undefined` is no file. */
type Survivors = Set<Content | undefined>;

/**
 * Records what happens to a disk, and knows what a power cut may leave of it: synced bytes, and names in synced folders.
 * Of everything later, each name and each byte may be there or not.
 */
class DiskRecorder {
  private readonly halfWritten: string[] = [];
  private readonly survivors = new Map<string, Survivors>();
  private readonly now = new Map<string, Content>();
  private readonly newFolders = new Set<string>();

  /** Forgets everything. Returns the names that a power cut could have left with a part of their bytes, and when. */
  end(): string[] {
    for (const known of [this.survivors, this.now, this.newFolders]) known.clear();
    return this.halfWritten.splice(0);
  }

  /** Whether the file is there after any power cut from now on, with all its bytes. */
  isSafe(path: string): boolean {
    const candidates = this.survivors.get(resolve(path));
    const isThere = candidates !== undefined && candidates.size === 1 && !candidates.has(undefined);
    return isThere && isWhole([...candidates][0]) && !this.isInNewFolder(path);
  }

  /** Whether a power cut could leave no file at all under the name. */
  mayBeGone(path: string): boolean {
    const candidates = this.survivors.get(resolve(path));
    return candidates === undefined || candidates.has(undefined) || this.isInNewFolder(path);
  }

  /** The functions of `node:fs/promises`, recorded. */
  record(actual: Disk): Disk {
    return {
      ...actual,
      open: ((...args) => this.open(actual, ...args)) as Open,
      mkdir: (async (path: string, options?: object) => {
        const first = await actual.mkdir(path, options);
        if (first !== undefined) this.makeFolders(resolve(first), resolve(path));
        return first;
      }) as Disk['mkdir'],
      writeFile: (async (path: string, data: string, options: { flush?: boolean }) => {
        await actual.writeFile(path, data, options);
        const { size: bytes } = await actual.stat(path);
        this.name(path, { bytes, syncedBytes: options.flush ? bytes : 0 });
        this.done(`write ${path}`);
      }) as Disk['writeFile'],
      link: async (from, to) => {
        await actual.link(from, to);
        this.name(`${to}`, this.now.get(resolve(`${from}`)));
        this.done(`link ${to}`);
      },
      rename: async (from, to) => {
        await actual.rename(from, to);
        this.name(`${to}`, this.now.get(resolve(`${from}`)));
        this.name(`${from}`, undefined);
        this.done(`rename ${to}`);
      },
      rm: async (path, options) => {
        await actual.rm(path, options);
        this.name(`${path}`, undefined);
        this.done(`rm ${path}`);
      },
    };
  }

  private async open(actual: Disk, ...args: Parameters<Disk['open']>): Promise<fs.FileHandle> {
    const file = await actual.open(...args);
    const path = resolve(`${args[0]}`);
    if ((await file.stat()).isDirectory()) return this.watchFolder(file, path);
    if (args[1] === 'wx' || (args[1] === 'a' && !this.now.has(path)))
      this.name(path, { bytes: 0, syncedBytes: 0 });
    const content = this.now.get(path);
    return content === undefined ? file : this.watchFile(file, content);
  }

  private watchFile(file: fs.FileHandle, content: Content): fs.FileHandle {
    const measure = async () => {
      content.bytes = (await file.stat()).size;
      this.done('write');
    };
    const sync = async () => {
      content.syncedBytes = content.bytes;
    };
    after(file, 'writeFile', measure);
    after(file, 'writev', measure);
    after(file, 'sync', sync);
    after(file, 'datasync', sync);
    return file;
  }

  private watchFolder(file: fs.FileHandle, folder: string): fs.FileHandle {
    after(file, 'sync', async () => {
      for (const [path, survivors] of this.survivors) {
        if (dirname(path) !== folder) continue;
        survivors.clear();
        survivors.add(this.now.get(path));
      }
      for (const created of this.newFolders) if (dirname(created) === folder) this.newFolders.delete(created);
      this.done(`sync ${folder}`);
    });
    return file;
  }

  private name(path: string, content: Content | undefined): void {
    const absolute = resolve(path);
    // Before the first recorded change there was no such file.
    const survivors = this.survivors.get(absolute) ?? new Set([undefined]);
    this.survivors.set(absolute, survivors.add(content));
    if (content === undefined) this.now.delete(absolute);
    else this.now.set(absolute, content);
  }

  private makeFolders(first: string, last: string): void {
    for (let folder = last; `${folder}${sep}`.startsWith(`${first}${sep}`); folder = join(folder, '..'))
      this.newFolders.add(folder);
  }

  private isInNewFolder(path: string): boolean {
    return [...this.newFolders].some((folder) => resolve(path).startsWith(`${folder}${sep}`));
  }

  private done(operation: string): void {
    for (const [path, survivors] of this.survivors) {
      if (path.endsWith(TEMPORARY) || [...survivors].every(isWhole)) continue;
      this.halfWritten.push(`${path} after ${operation}`);
    }
  }
}

function isWhole(content: Content | undefined): boolean {
  return content === undefined || content.syncedBytes === content.bytes;
}

/** Runs `then` after each call of a method of this handle. */
function after(
  file: fs.FileHandle,
  method: 'writeFile' | 'writev' | 'sync' | 'datasync',
  then: () => Promise<void>,
): void {
  const original = file[method];
  Object.assign(file, {
    [method]: async (...args: unknown[]) => {
      const result: unknown = await Reflect.apply(original, file, args);
      await then();
      return result;
    },
  });
}

/** One for a test file: `jest.mock` puts it under the product before the first test. */
export const disk = new DiskRecorder();
