import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readSmallFile, StorageFault, writeSmallJson } from '../storage';
import type { JobName } from './job-records';
import type { RemovingStorage } from './removing-storage';

/** A job that uses the video under a key; without a date, for good. */
export interface KeyUser extends JobName {
  expiresAt?: string | undefined;
}

const userSchema = z.object({
  namespace: z.string(),
  job: z.string(),
  expiresAt: z.iso.datetime().optional(),
});

const FOLDER = 'jobs/keys/';
const DIGITS = 32;
const REMOVAL = 'removing-';

/** Whoever removes a video begins within this time after saying so, or not at all. */
const REMOVE_WITHIN_MS = 30_000;
/** Longer than that and the last call to the storage together: whoever said it was killed. */
const STALE_AFTER_MS = 2 * 60_000;
const CHECK_EVERY_MS = 200;

/**
 * Who uses the video under a key, as small files. Only jobs whose video expires, and jobs that find their video stored by
 * another, are in there.
 *
 * Storages have no locks. A remover first writes that it removes, then reads the users. A user first writes itself, then
 * reads whether somebody removes. So at least one of the two sees the other: a remover that sees a user leaves the video, and
 * a user that sees a remover waits until that one is done. Afterwards nobody removes the video under the user.
 */
export class KeyUsers {
  private readonly folder: string;

  constructor(
    private readonly storage: RemovingStorage,
    key: string,
  ) {
    this.folder = `${FOLDER}${digestOf(key)}/`;
  }

  /** All users of the key. A file that nobody can read counts as a user for good. */
  async list(): Promise<KeyUser[]> {
    const users: KeyUser[] = [];
    for await (const { key: file } of this.storage.list(this.folder)) {
      if (file.startsWith(`${this.folder}${REMOVAL}`)) continue;
      const content = await readSmallFile(this.storage, file);
      if (content !== undefined) users.push(parseUser(content));
    }
    return users;
  }

  async add(user: KeyUser): Promise<void> {
    const { namespace, job, expiresAt } = user;
    await writeSmallJson(this.storage, this.fileOf(user), { namespace, job, expiresAt });
  }

  async remove(user: JobName): Promise<void> {
    await this.storage.removeKey(this.fileOf(user));
  }

  /** Waits while somebody removes the video. */
  async untilNotRemoved(): Promise<void> {
    const sinceMs = new Map<string, number>();
    for (;;) {
      let isRemoved = false;
      for await (const { key: file } of this.storage.list(`${this.folder}${REMOVAL}`)) {
        const seenAtMs = sinceMs.get(file) ?? performance.now();
        sinceMs.set(file, seenAtMs);
        if (performance.now() - seenAtMs > STALE_AFTER_MS) await this.storage.removeKey(file);
        else isRemoved = true;
      }
      if (!isRemoved) return;
      await sleep(CHECK_EVERY_MS);
    }
  }

  /** Says that the video is being removed while the work lasts. The work calls `checkTime` before it removes anything. */
  async whileRemoving<T>(work: (checkTime: () => void) => Promise<T>): Promise<T> {
    const file = `${this.folder}${REMOVAL}${randomUUID()}.json`;
    const startedAtMs = performance.now();
    await writeSmallJson(this.storage, file, { at: new Date().toISOString() });
    try {
      return await work(() => {
        if (performance.now() - startedAtMs > REMOVE_WITHIN_MS)
          throw new StorageFault('reading who uses the video took too long');
      });
    } finally {
      // What stays is stale, and the next user or remover removes it.
      await this.storage.removeKey(file).catch(() => undefined);
    }
  }

  private fileOf({ namespace, job }: JobName): string {
    return `${this.folder}${digestOf(`${namespace}\0${job}`)}.json`;
  }
}

/** Whether the user still needs the video. */
export function isLive({ expiresAt }: KeyUser, nowMs: number): boolean {
  return expiresAt === undefined || Date.parse(expiresAt) > nowMs;
}

export const isSameJob = (one: JobName, other: JobName) =>
  one.namespace === other.namespace && one.job === other.job;

function parseUser(content: string): KeyUser {
  try {
    return userSchema.parse(JSON.parse(content));
  } catch {
    return { namespace: '', job: 'a job that cannot be read' };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGITS);
}
