import { cleanText } from '../contract/clean-text';
import { readSmallFile } from '../storage';
import type { JobName } from './job-records';
import { isLive, isSameJob, type KeyUser, KeyUsers } from './key-users';
import type { RemovingStorage } from './removing-storage';

/** The stored video of a job. */
export interface VideoOfJob extends JobName {
  key: string;
}

export interface RemoveOptions {
  /** A file that was stored later belongs to somebody else. */
  storedBefore?: Date;
  nowMs?: number;
}

/** What became of a video: `gone` was gone before, and `usedBy` names jobs that still use the file, which stays. */
export type Removal = { removed: true } | { gone: true } | { usedBy: string[] };

/** Removes a video with its sidecar, unless another job uses it. Repeated after a kill, it finishes. */
export async function removeVideo(
  storage: RemovingStorage,
  video: VideoOfJob,
  options: RemoveOptions = {},
): Promise<Removal> {
  const users = new KeyUsers(storage, video.key);
  return users.whileRemoving(async (checkTime) => {
    const usedBy = await usersBeside(video, await users.list(), storage, options);
    if (usedBy.length > 0) return { usedBy };
    const storedAt = await storage.storedAt(video.key);
    if (storedAt && options.storedBefore && storedAt >= options.storedBefore)
      return { usedBy: ['a job that stored it later'] };
    checkTime();
    // What was not there a moment ago and is there now belongs to somebody else.
    if (storedAt) await storage.removeKey(video.key);
    await storage.removeKey(sidecarOf(video.key));
    return storedAt === undefined ? { gone: true } : { removed: true };
  });
}

/** The same without removing anything. */
export async function whoElseUses(
  storage: RemovingStorage,
  video: VideoOfJob,
  options: RemoveOptions = {},
): Promise<string[]> {
  return usersBeside(video, await new KeyUsers(storage, video.key).list(), storage, options);
}

export const sidecarOf = (key: string) => `${key}.json`;

async function usersBeside(
  video: VideoOfJob,
  users: readonly KeyUser[],
  storage: RemovingStorage,
  { nowMs = Date.now() }: RemoveOptions,
): Promise<string[]> {
  const live = users.filter((user) => !isSameJob(user, video) && isLive(user, nowMs)).map(({ job }) => job);
  const writer = await writerOfSidecar(storage, video.key);
  const isKnown = writer === undefined || writer === video.job || users.some(({ job }) => job === writer);
  return isKnown ? live : [...live, cleanText(writer)];
}

/** The job that stored the video last, according to its sidecar. Jobs that never share a video are known by it alone. */
export async function writerOfSidecar(storage: RemovingStorage, key: string): Promise<string | undefined> {
  const content = await readSmallFile(storage, sidecarOf(key));
  if (content === undefined) return undefined;
  try {
    const { workflowId }: { workflowId?: unknown } = Object(JSON.parse(content));
    return typeof workflowId === 'string' ? workflowId : undefined;
  } catch {
    return undefined;
  }
}
