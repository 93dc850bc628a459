import { LARGEST_SMALL_FILE_BYTES, RECORD_IO_MS, readSmallFile, smallJson, withinTime } from './small-files';
import type { VideoStorage } from './storage';
import { StorageFault, storageFault } from './storage-fault';

/** Every entry has an id that its writer made, by which the writer knows it again. */
export interface LogEntry {
  id: string;
}

/** Whether an entry was appended, and the entries that are there now. */
export interface Appended<Entry> {
  appended: boolean;
  entries: Entry[];
}

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
 * is refused. The field `follows` of a file is the id of the entry before it.
 */
export class EntryLog<Entry extends LogEntry> {
  constructor(
    private readonly storage: Pick<VideoStorage, 'read' | 'create'>,
    private readonly prefix: string,
    /** Checks an entry that was read; undefined when it is not one. */
    private readonly parse: (value: unknown) => Entry | undefined,
  ) {}

  /**
   * Appends an entry after those that the caller has read. If others came first, nothing is appended and the caller decides
   * anew. After an error, the entry may still arrive.
   */
  async append(entry: Entry, after: readonly Entry[]): Promise<Appended<Entry>> {
    const number = after.length + 1;
    const key = this.keyOf(number);
    const text = smallJson({ ...entry, follows: after.at(-1)?.id });
    if (Buffer.byteLength(text) > LARGEST_SMALL_FILE_BYTES)
      throw new StorageFault(`${key} would be too large`);
    const problem = await this.create(key, text);
    if (problem === undefined) return { appended: true, entries: [...after, entry] };
    // A repeated call is refused because of its own first try, so only the content tells whose entry it is.
    const found = await this.readEntry(number).catch((error: unknown) => {
      throw error instanceof DamagedEntry ? error : mayArrive(key, problem, storageFault(error).message);
    });
    if (found === undefined) throw mayArrive(key, problem);
    const entries = this.join(after, [found]);
    if (found.entry.id === entry.id) return { appended: true, entries };
    return { appended: false, entries: await this.read(entries) };
  }

  /** Undefined when it has created the file; otherwise why not, or why that is unknown. */
  private async create(key: string, text: string): Promise<StorageFault | undefined> {
    const giveUp = new AbortController();
    try {
      const isCreated = await withinTime(() => this.storage.create(key, text, { signal: giveUp.signal }));
      return isCreated ? undefined : new StorageFault('the storage says that it is there already');
    } catch (error) {
      // Also of one that is late: nobody waits for it any more.
      giveUp.abort();
      return storageFault(error);
    }
  }

  /**
   * All entries: those that the caller knows, and what follows them. What stands under the key of an entry and is not one is an
   * error, never an absence.
   */
  async read(known: readonly Entry[] = []): Promise<Entry[]> {
    const startedAtMs = performance.now();
    let entries = [...known];
    for (;;) {
      const ahead = Math.floor(entries.length / ENTRIES_PER_READ_AHEAD);
      const count = Math.min(Math.max(ahead, 1), MOST_READS_AT_ONCE);
      const numbers = Array.from({ length: count }, (_, index) => entries.length + 1 + index);
      const read = await Promise.all(numbers.map((number) => this.readEntry(number)));
      entries = this.join(entries, read);
      if (read.includes(undefined)) return entries;
      if (performance.now() - startedAtMs > RECORD_IO_MS)
        throw new StorageFault(
          `${this.prefix} could not be read in time: it has more than ${entries.length} entries`,
        );
    }
  }

  private async readEntry(number: number): Promise<FoundEntry<Entry> | undefined> {
    const key = this.keyOf(number);
    const text = await readSmallFile(this.storage, key).catch((error: unknown) => {
      const { message, code } = storageFault(error);
      throw new StorageFault(`${key} could not be read: ${message}`, { code });
    });
    if (text === undefined) return undefined;
    const value = parseJson(text);
    const entry = this.parse(value);
    if (entry === undefined) throw new DamagedEntry(`${key} in the storage is damaged`);
    return { entry, follows: Reflect.get(Object(value), 'follows') };
  }

  /** Refuses entries of an older log whose first files were removed: together they would tell what never happened. */
  private join(before: readonly Entry[], read: (FoundEntry<Entry> | undefined)[]): Entry[] {
    const entries = [...before];
    for (const found of read) {
      if (found === undefined) break;
      const key = this.keyOf(entries.length + 1);
      if (found.follows !== entries.at(-1)?.id)
        throw new DamagedEntry(
          `${key} in the storage does not follow the entry before it: files are missing`,
        );
      entries.push(found.entry);
    }
    return entries;
  }

  keyOf(number: number): string {
    if (number > MOST_ENTRIES) throw new StorageFault(`${this.prefix} has too many entries`);
    return `${this.prefix}${String(number).padStart(DIGITS, '0')}.json`;
  }
}

interface FoundEntry<Entry> {
  entry: Entry;
  follows: unknown;
}

/** Undefined when it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function mayArrive(key: string, problem: StorageFault, alsoUnread?: string): StorageFault {
  const why = [problem.message, alsoUnread].filter((text) => text !== undefined).join('; ');
  return new StorageFault(`${key} was not stored, or may still arrive: ${why}`, { code: problem.code });
}
