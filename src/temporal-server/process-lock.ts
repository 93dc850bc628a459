import { randomUUID } from 'node:crypto';
import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

// A holder counts as dead after twelve missed heartbeats; a busy machine misses one or two.
const HEARTBEAT_EVERY_MS = 5_000;
export const SILENT_AFTER_MS = 60_000;

const HELD_BY_ANOTHER =
  process.platform === 'win32' ? ['EPERM', 'EACCES', 'EEXIST', 'ENOTEMPTY'] : ['EEXIST', 'ENOTEMPTY'];
const GONE = ['ENOENT'];

export interface Holder {
  readonly token: string;
  readonly pid: number;
  readonly host: string;
  readonly lastBeatMs: number;
}

/**
 * A lock between processes: a folder with one file, named by its holder's token. To take it, a process renames a folder
 * that already contains its file; the system refuses that while the target has a file. To free it, a process removes that
 * one file, so when two processes take over a stale lock, neither can remove the lock that the other has just taken.
 */
export class ProcessLock {
  readonly token = `${process.pid}-${randomUUID()}`;
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(private readonly folder: string) {}

  async tryTake(): Promise<boolean> {
    const claim = `${this.folder}.${this.token}.claim`;
    try {
      await mkdir(claim, { recursive: true });
      await writeFile(join(claim, this.token), hostname());
      // Windows cannot rename onto an existing folder, even an empty one. Elsewhere this has no effect.
      await rmdir(this.folder).catch(() => undefined);
      await rename(claim, this.folder);
    } catch (error) {
      await rm(claim, { recursive: true, force: true });
      if (hasCode(error, HELD_BY_ANOTHER)) return false;
      throw error;
    }
    this.heartbeat = setInterval(() => this.beat(), HEARTBEAT_EVERY_MS).unref();
    return true;
  }

  async release(): Promise<void> {
    clearInterval(this.heartbeat);
    await this.free(this.token);
  }

  async free(token: string): Promise<void> {
    await unlink(join(this.folder, token)).catch(() => undefined);
    await rmdir(this.folder).catch(() => undefined);
  }

  /** Returns the current holder, or undefined if the lock is free. */
  async holder(): Promise<Holder | undefined> {
    try {
      const [token] = await readdir(this.folder);
      if (token === undefined) return undefined;
      const file = join(this.folder, token);
      const [host, { mtimeMs }] = await Promise.all([readFile(file, 'utf8'), stat(file)]);
      return { token, pid: Number.parseInt(token, 10), host, lastBeatMs: mtimeMs };
    } catch (error) {
      if (hasCode(error, GONE)) return undefined;
      throw error;
    }
  }

  private beat(): void {
    const now = new Date();
    // If another process has taken the lock over, our file is gone and needs no heartbeat.
    utimes(join(this.folder, this.token), now, now).catch(() => undefined);
  }
}

/** Processes of other machines cannot be checked; only their missing heartbeats show that they are gone. */
export function isDead({ pid, host }: Holder): boolean {
  return host === hostname() && !isAlive(pid);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, ['ESRCH']);
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    codes.some((code) => code === error.code)
  );
}
