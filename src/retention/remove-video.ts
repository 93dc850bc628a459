import { cleanText } from '../contract/clean-text';
import { type ExtraName, extraKey, extraNamesIn } from '../contract/extras';
import { readSmallFile } from '../storage';
import type { JobName } from './job-records';
import { isLive, isSameJob, type KeyUser, KeyUsers } from './key-users';
import type { RemovingStorage } from './removing-storage';

/** The stored video of a job. */
export interface VideoOfJob extends JobName {
  key: string;
  /** The pictures beside it that are known of; its sidecar may know of more. */
  extras?: readonly ExtraName[] | undefined;
}

export interface RemoveOptions {
  /** A file that was stored later belongs to somebody else. */
  storedBefore?: Date;
  nowMs?: number;
}

/** What became of a video: `gone` was gone before, and `usedBy` names jobs that still use the file, which stays. */
export type Removal = { removed: true } | { gone: true } | { usedBy: string[] };

/** Removes a video with its sidecar and its extras, unless another job uses it. Repeated after a kill, it finishes. */
export async function removeVideo(
  storage: RemovingStorage,
  video: VideoOfJob,
  options: RemoveOptions = {},
): Promise<Removal> {
  const users = new KeyUsers(storage, video.key);
  return users.whileRemoving(async (checkTime) => {
    const sidecar = await readSidecar(storage, video.key);
    const usedBy = usersBeside(video, await users.list(), sidecar, options);
    if (usedBy.length > 0) return { usedBy };
    const storedAt = await storage.storedAt(video.key);
    if (storedAt && options.storedBefore && storedAt >= options.storedBefore)
      return { usedBy: ['a job that stored it later'] };
    checkTime();
    // What was not there a moment ago and is there now belongs to somebody else.
    if (storedAt) await storage.removeKey(video.key);
    // Before the sidecar, which names them.
    for (const name of extrasIn(sidecar, video)) await storage.removeKey(extraKey(video.key, name));
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
  const users = await new KeyUsers(storage, video.key).list();
  return usersBeside(video, users, await readSidecar(storage, video.key), options);
}

export const sidecarOf = (key: string) => `${key}.json`;

function usersBeside(
  video: VideoOfJob,
  users: readonly KeyUser[],
  sidecar: FoundSidecar,
  { nowMs = Date.now() }: RemoveOptions,
): string[] {
  const live = users.filter((user) => !isSameJob(user, video) && isLive(user, nowMs)).map(({ job }) => job);
  const writer = writerOf(sidecar);
  const isKnown = writer === undefined || writer === video.job || users.some(({ job }) => job === writer);
  return isKnown ? live : [...live, cleanText(writer)];
}

/** The job that stored the video last, according to its sidecar. Jobs that never share a video are known by it alone. */
export async function writerOfSidecar(storage: RemovingStorage, key: string): Promise<string | undefined> {
  return writerOf(await readSidecar(storage, key));
}

/** The extras of a video, also those that another job has made of the same file. */
export async function extrasOf(storage: RemovingStorage, video: VideoOfJob): Promise<ExtraName[]> {
  return extrasIn(await readSidecar(storage, video.key), video);
}

function extrasIn({ extras: inSidecar }: FoundSidecar, { extras = [] }: VideoOfJob): ExtraName[] {
  return [...new Set([...extras, ...extraNamesIn(inSidecar)])];
}

function writerOf({ workflowId }: FoundSidecar): string | undefined {
  return typeof workflowId === 'string' ? workflowId : undefined;
}

/** Anybody may have written it. */
interface FoundSidecar {
  workflowId?: unknown;
  extras?: unknown;
}

/** Nothing of a file that is not one. */
async function readSidecar(storage: RemovingStorage, key: string): Promise<FoundSidecar> {
  const content = await readSmallFile(storage, sidecarOf(key));
  try {
    return Object(JSON.parse(content ?? '{}'));
  } catch {
    return {};
  }
}
