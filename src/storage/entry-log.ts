import { jsonIn } from '../contract/clean-text';
import { LARGEST_SMALL_FILE_BYTES, readSmallFile, smallJson, withinTime } from './small-files';
import type { VideoStorage } from './storage';
import { StorageFault, storageFault } from './storage-fault';

/** The file of an entry is not one. */
export class DamagedEntry extends StorageFault {}

/** The names of entries have this many digits. */
const DIGITS = 4;
const MOST_ENTRIES = 10 ** DIGITS - 1;

/** A long log is read in parts, so that it is read in time. The SDK of S3 has 50 connections. */
const MOST_READS_AT_ONCE = 32;

/** A short log is read one by one, so that a new one costs a single read. */
const ENTRIES_PER_READ_AHEAD = 4;

/**
 * A log to which entries are only ever appended: a small file for each, `<prefix>0001.json`, `0002.json` and so on, up to the
 * first that is missing. Each is created exclusively and never changed, so a write that lands late takes a free number or
 * is refused. Every entry has an id that its writer made, by which the writer knows it again. The field `follows` of a file is
 * the id of the entry before it.
 */
export class EntryLog<Entry extends { id: string }> {
  constructor(
    private readonly storage: Pick<VideoStorage, 'read' | 'create'>,
    private readonly prefix: string,
    /** Checks an entry that was read; undefined when it is not one. */
    private readonly parse: (value: unknown) => Entry | undefined,
  ) {}

  /**
   * Appends an entry after those that the caller has read. If others came first, nothing is appended and the caller decides
   * anew. Returns the entries that are there now. After an error, the entry may still arrive.
   */
  async append(entry: Entry, after: readonly Entry[]): Promise<{ appended: boolean; entries: Entry[] }> {
    const key = this.keyOf(after.length + 1);
    const text = smallJson({ ...entry, follows: after.at(-1)?.id });
    if (Buffer.byteLength(text) > LARGEST_SMALL_FILE_BYTES)
      throw new StorageFault(`${key} would be too large`);
    let problem = new StorageFault('the storage says that it is there already');
    try {
      if (await withinTime(() => this.storage.create(key, text)))
        return { appended: true, entries: [...after, entry] };
    } catch (error) {
      problem = storageFault(error);
    }
    // A repeated call is refused because of its own first try, so only the content tells whose entry it is.
    let why = problem.message;
    const entries = await this.read(after).catch((error: unknown) => {
      if (error instanceof DamagedEntry) throw error;
      why += `; ${storageFault(error).message}`;
      return [...after];
    });
    const found = entries[after.length];
    if (found !== undefined) return { appended: found.id === entry.id, entries };
    throw new StorageFault(`${key} was not stored, or may still arrive: ${why}`, { code: problem.code });
  }

  /**
   * All entries: those that the caller knows, and what follows them. What stands under the key of an entry and is not one is an
   * error, never an absence.
   */
  read(known: readonly Entry[] = []): Promise<Entry[]> {
    return withinTime(async () => {
      const entries = [...known];
      for (;;) {
        const ahead = Math.floor(entries.length / ENTRIES_PER_READ_AHEAD);
        const length = Math.min(Math.max(ahead, 1), MOST_READS_AT_ONCE);
        const keys = Array.from({ length }, (_, index) => this.keyOf(entries.length + 1 + index));
        for (const [index, file] of (await Promise.all(keys.map((key) => this.readFile(key)))).entries()) {
          if (file === undefined) return entries;
          // Entries of an older log whose first files were removed would tell what never happened.
          if (file.follows !== entries.at(-1)?.id)
            throw new DamagedEntry(
              `${keys[index]} in the storage does not follow the entry before it: files are missing`,
            );
          entries.push(file.entry);
        }
      }
    });
  }

  private async readFile(key: string): Promise<{ entry: Entry; follows: unknown } | undefined> {
    const text = await readSmallFile(this.storage, key).catch((error: unknown) => {
      const { message, code } = storageFault(error);
      throw new StorageFault(`${key} could not be read: ${message}`, { code });
    });
    if (text === undefined) return undefined;
    const value = jsonIn(text);
    const entry = this.parse(value);
    if (entry === undefined) throw new DamagedEntry(`${key} in the storage is damaged`);
    return { entry, follows: Reflect.get(Object(value), 'follows') };
  }

  keyOf(number: number): string {
    if (number > MOST_ENTRIES) throw new StorageFault(`${this.prefix} has too many entries`);
    return `${this.prefix}${String(number).padStart(DIGITS, '0')}.json`;
  }
}
