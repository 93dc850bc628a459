import { createHash } from 'node:crypto';
import { cleanText } from '../contract/clean-text';
import {
  asStorageFault,
  digestOfJob,
  type JobName,
  JobRecord,
  type RemovingStorage,
  readSmallFile,
  recordId,
  recordsOf,
} from '../storage';

/** The parts of a job that can be removed. */
export const FORGOTTEN_PARTS = ['video', 'sidecar', 'record', 'results', 'webhook', 'execution'] as const;

/** Something that a job has left: a file in the storage, or an execution in Temporal. */
export interface ForgottenPart {
  what: (typeof FORGOTTEN_PARTS)[number];
  where: string;
}

/** Something that was not removed. */
export interface KeptPart extends ForgottenPart {
  why: string;
}

/** What is done, or would be. */
export interface ForgottenParts {
  removed: ForgottenPart[];
  kept: KeptPart[];
  /** The keys of records that are marked as forgotten. */
  markers: string[];
}

/** A job or an item of a batch, with what Temporal knows of it. Its records know the rest. */
export interface JobToForget extends JobName {
  video?: Omit<VideoOfTask, keyof JobName> | undefined;
  request?: object | undefined;
  /** The ids of its records, if they were listed already. */
  recordIds?: readonly string[] | undefined;
}

/** The video that a job stored for its task. */
export interface VideoOfTask extends JobName {
  taskId: string;
  key: string;
  sha256: string;
}

export interface VideoRemoval {
  removed: ('video' | 'sidecar')[];
  /** Why the file under the key stays: it is not the video of this task. */
  kept?: string;
}

/** Removes the videos of a job, then marks the records that name them. So a run that is killed anywhere is finished by the next. */
export async function forgetFiles(
  storage: RemovingStorage,
  { namespace, job, ...known }: JobToForget,
  { dryRun }: { dryRun: boolean },
): Promise<ForgottenParts> {
  const records = await recordsOf(storage, { namespace, job }, known.recordIds);
  const videos = new Map(known.video && [[known.video.taskId, known.video]]);
  for (const { recorded } of records) {
    if (recorded.stored === undefined) continue;
    const { key, taskId, video } = recorded.stored;
    videos.set(taskId, { key, taskId, sha256: video.sha256 });
  }
  const removed: ForgottenPart[] = [];
  const kept: KeptPart[] = [];
  for (const video of videos.values()) {
    const { key } = video;
    const done = await removeVideo(storage, { namespace, job, ...video }, { dryRun });
    for (const what of done.removed) removed.push({ what, where: what === 'video' ? key : sidecarOf(key) });
    if (done.kept !== undefined) kept.push({ what: 'video', where: key, why: done.kept });
  }
  const markers = records.map(({ record }) => record.key);
  for (const { record, recorded } of records) {
    if (recorded.entries.every(({ event }) => event === 'forgotten')) continue;
    if (!dryRun) await record.forget(storage);
    removed.push({ what: 'record', where: record.key });
  }
  // Without a record, only the execution keeps the request from being paid again.
  if (records.length === 0 && known.request) {
    const id = recordId(digestOfJob({ namespace, job }, known.request));
    const record = new JobRecord(storage, { namespace, job }, id);
    if (!dryRun) await record.forget(storage);
    markers.push(record.key);
  }
  // The name may have stored several videos under one key, and the last of them is gone now.
  const isGone = ({ where }: KeptPart) =>
    removed.some((part) => part.what === 'video' && part.where === where);
  return { removed, kept: kept.filter((part) => !isGone(part)), markers };
}

/**
 * Removes the video of a task and its sidecar. Another job may have stored a video under the key since, and anybody may have put a
 * file next to it: both stay. Repeated after a kill, it finishes.
 */
export async function removeVideo(
  storage: RemovingStorage,
  video: VideoOfTask,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<VideoRemoval> {
  const sidecarKey = sidecarOf(video.key);
  const sidecar = await readSidecar(storage, sidecarKey);
  const isOwnSidecar =
    sidecar.taskId === video.taskId &&
    sidecar.workflowId === video.job &&
    sidecar.namespace === video.namespace;
  const stored = await digestOf(storage, video.key);
  const removed: VideoRemoval['removed'] = [];
  const kept = stored === undefined ? undefined : whyKept(stored, video, isOwnSidecar ? {} : sidecar);
  if (stored !== undefined && kept === undefined) {
    if (!dryRun) await storage.removeKey(video.key);
    removed.push('video');
  }
  if (isOwnSidecar) {
    if (!dryRun) await storage.removeKey(sidecarKey);
    removed.push('sidecar');
  }
  return { removed, ...(kept !== undefined && { kept }) };
}

const sidecarOf = (key: string) => `${key}.json`;

/** A sidecar of other bytes was left behind by a video that is gone, and says nothing about this one. */
function whyKept(stored: string, { sha256 }: VideoOfTask, other: FoundSidecar): string | undefined {
  if (stored !== sha256) return 'another file is stored there now';
  const isShared = typeof other.taskId === 'string' && Object(other.video).sha256 === sha256;
  return isShared ? `${cleanText(String(other.workflowId))} has the same file` : undefined;
}

/** Anybody may have written it. */
type FoundSidecar = Partial<Record<'namespace' | 'workflowId' | 'taskId' | 'video', unknown>>;

async function readSidecar(storage: RemovingStorage, key: string): Promise<FoundSidecar> {
  const content = await readSmallFile(storage, key);
  try {
    return Object(JSON.parse(content ?? '{}'));
  } catch {
    return {};
  }
}

/** The SHA-256 of the file under a key; undefined when there is none. */
function digestOf(storage: RemovingStorage, key: string): Promise<string | undefined> {
  return asStorageFault(async () => {
    const stored = await storage.read(key);
    if (stored === undefined) return undefined;
    const hash = createHash('sha256');
    for await (const chunk of stored) hash.update(chunk);
    return hash.digest('hex');
  });
}
