import { StorageFault } from '../storage';
import { type DueVideo, dueBefore, readDue } from './due-marks';
import { DamagedRecord, readRecord, recordKey, writeRecord } from './job-records';
import { isLive, isSameJob, KeyUsers } from './key-users';
import { removeVideo } from './remove-video';
import type { RemovingStorage } from './removing-storage';

/** Clocks of workers differ. A video stays this much longer, so that no worker removes it early. */
export const CLOCK_SLACK_MS = 5 * 60_000;

/** The rest of a flood follows an hour later. */
const MOST_AT_ONCE = 20_000;
/** A storage that refuses to remove files refuses all of them. */
const MOST_FAILURES = 20;
const MOST_NAMED = 20;

/** What one round of the janitor did. */
export interface ExpiredVideos {
  removed: number;
  /** Videos that other jobs still use. */
  shared: number;
  failed: number;
  /** Some of the jobs whose videos were removed. */
  jobs: string[];
  /** The first error. */
  error?: unknown;
}

/**
 * Removes the videos that have expired, with their sidecars. It reads the marks that are due and nothing else, one after
 * another. Several may run at once, and one that is killed is finished by the next: the mark goes last.
 */
export async function expireVideos(
  storage: RemovingStorage,
  { nowMs = Date.now(), mostAtOnce = MOST_AT_ONCE }: { nowMs?: number; mostAtOnce?: number } = {},
): Promise<ExpiredVideos> {
  const done: ExpiredVideos = { removed: 0, shared: 0, failed: 0, jobs: [] };
  let left = mostAtOnce;
  let faults = 0;
  for await (const mark of dueBefore(storage, nowMs - CLOCK_SLACK_MS)) {
    if (left-- === 0) break;
    try {
      const due = await readDue(storage, mark);
      if (due === undefined) continue;
      const outcome = await expire(storage, due, nowMs);
      await storage.removeKey(mark);
      if (outcome === 'removed') {
        done.removed += 1;
        if (done.jobs.length < MOST_NAMED) done.jobs.push(due.job);
      }
      if (outcome === 'shared') done.shared += 1;
    } catch (error) {
      done.error ??= error;
      done.failed += 1;
      // One damaged file says nothing about the next, and it stays first in the list.
      if (error instanceof StorageFault && !(error instanceof DamagedRecord)) faults += 1;
      if (faults === MOST_FAILURES) break;
    }
  }
  return done;
}

async function expire(
  storage: RemovingStorage,
  due: DueVideo,
  nowMs: number,
): Promise<'removed' | 'shared' | 'nothing'> {
  const users = new KeyUsers(storage, due.key);
  const before = await users.list();
  const own = before.find((user) => isSameJob(user, due));
  // Without a user, an earlier round got this far. With a later date, another mark says when.
  if (own === undefined || isLive(own, nowMs)) return 'nothing';
  const removal = await removeVideo(storage, due, { storedBefore: new Date(due.expiresAt), nowMs });
  await markExpired(storage, due, nowMs);
  // It stays among the users, because the sidecar may name it. The last one takes all of them along.
  if ('usedBy' in removal) return 'shared';
  for (const user of before) if (!isLive(user, nowMs)) await users.remove(user);
  return 'removed' in removal ? 'removed' : 'nothing';
}

/** A later job of the same name and request must not take the video for stored, and must not pay again either. */
async function markExpired(storage: RemovingStorage, due: DueVideo, nowMs: number): Promise<void> {
  const { namespace, job, record: id, key, expiresAt } = due;
  if (id === undefined) return;
  const file = recordKey(job, id);
  const found = await readRecord(storage, file);
  if (found?.state !== 'stored' || found.key !== key || found.video.expiresAt !== expiresAt) return;
  const { taskId, request, service, submittedAt, cost, choice } = found;
  const expiredAt = new Date(nowMs).toISOString();
  const facts = { service, submittedAt, cost, choice };
  await writeRecord(storage, file, {
    namespace,
    job,
    request,
    ...facts,
    state: 'expired',
    taskId,
    expiredAt,
  });
}
