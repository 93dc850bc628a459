import { type DueVideo, writeDue } from './due-marks';
import type { JobName } from './job-records';
import { isSameJob, KeyUsers } from './key-users';
import { writerOfSidecar } from './remove-video';
import type { RemovingStorage } from './removing-storage';

/**
 * Says until when a job needs the video under a key. Call it before the video is stored: whoever removes videos then leaves it.
 * The user is written first, so that a mark without a user is known to be done with.
 */
export async function keepUntil(storage: RemovingStorage, due: DueVideo): Promise<void> {
  const { namespace, job, key, expiresAt } = due;
  const users = new KeyUsers(storage, key);
  await users.add({ namespace, job, expiresAt });
  await writeDue(storage, due);
  await users.untilNotRemoved();
}

/** The same without an end. */
export async function keepForGood(
  storage: RemovingStorage,
  { namespace, job, key }: JobName & { key: string },
): Promise<void> {
  const users = new KeyUsers(storage, key);
  await users.add({ namespace, job });
  await users.untilNotRemoved();
}

export interface FoundVideo extends JobName {
  key: string;
  /** Until when this job needs it; without a date, for good. */
  expiresAt?: string | undefined;
  /** Whether an earlier attempt of this job may have stored it, and no sidecar would say so. */
  mayBeOwn: boolean;
}

/**
 * Says that a job uses a video that it found under its key. The job that stored it may have said nothing: it is then noted as
 * a user for good, so that the file outlives this job. Returns false if the video was removed meanwhile.
 */
export async function shareVideo(storage: RemovingStorage, found: FoundVideo): Promise<boolean> {
  const { namespace, job, key, expiresAt, mayBeOwn } = found;
  const users = new KeyUsers(storage, key);
  const known = await users.list();
  const writer = await writerOfSidecar(storage, key);
  const isOwn = writer === undefined ? mayBeOwn : writer === job;
  const hasOther = known.some((user) => !isSameJob(user, found));
  if (isOwn && known.length === 0) return true;
  if (!isOwn && !hasOther) await users.add({ namespace, job: writer ?? UNKNOWN });
  await users.add({ namespace, job, expiresAt });
  await users.untilNotRemoved();
  return (await storage.storedAt(key)) !== undefined;
}

/** Of a video without a sidecar. */
const UNKNOWN = 'an earlier job';
