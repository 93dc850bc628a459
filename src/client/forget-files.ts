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

/** Something that a job has left: a file in the storage, or an execution in Temporal. */
export interface ForgottenPart {
  what: 'video' | 'sidecar' | 'record' | 'results' | 'webhook' | 'execution';
  where: string;
}

/** One step of forgetting: something to remove, or something that stays, and why. `remove` may find that it must stay. */
export type ForgetStep = ForgottenPart & ({ why: string } | { remove(): Promise<string | undefined> });

/** A job or an item of a batch, with what Temporal knows of it. Its records know the rest. */
export interface JobToForget extends JobName {
  video?: Omit<VideoOfTask, keyof JobName> | undefined;
  request?: object | undefined;
  /** The ids of its records, if they were listed already. */
  recordIds?: readonly string[];
}

/** The video that a job stored for its task. */
export interface VideoOfTask extends JobName {
  taskId: string;
  key: string;
  sha256: string;
}

/**
 * The videos of a job, then the records that name them: so a run that is killed anywhere is finished by the next. `isOnRecord`
 * is also true for a job that was forgotten before.
 */
export async function planFiles(
  storage: RemovingStorage,
  { namespace, job, video, request, recordIds }: JobToForget,
): Promise<{ steps: ForgetStep[]; isOnRecord: boolean }> {
  const name = { namespace, job };
  const records = await recordsOf(storage, name, recordIds);
  const videos = new Map(video && [[video.taskId, video]]);
  for (const { recorded } of records) {
    if (recorded.stored === undefined) continue;
    const { key, taskId, video: stored } = recorded.stored;
    videos.set(taskId, { key, taskId, sha256: stored.sha256 });
  }
  const files: ForgetStep[] = [];
  for (const one of videos.values()) files.push(...(await planVideo(storage, { ...name, ...one })));
  // The name may have stored several videos under one key: the last of them is there.
  const isGone = (key: string) => files.some(({ where, ...step }) => where === key && 'remove' in step);
  const marks = records.filter(({ recorded: { entries } }) =>
    entries.some((one) => one.event !== 'forgotten'),
  );
  const toMark = marks.map(({ record }) => record);
  // Without a record, only the execution keeps the request from being paid again.
  if (records.length === 0 && request)
    toMark.push(new JobRecord(storage, name, recordId(digestOfJob(name, request))));
  const steps = [
    ...files.filter((step) => 'remove' in step || !isGone(step.where)),
    ...toMark.map((record) => removal('record', record.key, () => record.forget(storage))),
  ];
  return { steps, isOnRecord: records.length > 0 };
}

export const removal = (
  what: ForgottenPart['what'],
  where: string,
  remove: () => Promise<void>,
): ForgetStep => ({
  what,
  where,
  remove: async () => {
    await remove();
    return undefined;
  },
});

/** Removes the video of a task and its sidecar, if they are this task's. Repeated after a kill, it finishes. */
export async function removeVideo(storage: RemovingStorage, video: VideoOfTask): Promise<void> {
  for (const step of await planVideo(storage, video)) if ('remove' in step) await step.remove();
}

/** Another job may have stored a video under the key since, and anybody may have put a file next to it: both stay. */
async function planVideo(storage: RemovingStorage, video: VideoOfTask): Promise<ForgetStep[]> {
  const { key } = video;
  const sidecarKey = `${key}.json`;
  const sidecar = await readSidecar(storage, sidecarKey);
  const isOwnSidecar =
    sidecar.taskId === video.taskId &&
    sidecar.workflowId === video.job &&
    sidecar.namespace === video.namespace;
  const steps: ForgetStep[] = [];
  const stored = await digestOf(storage, key);
  if (stored !== undefined) {
    const why = whyKept(stored, video, isOwnSidecar ? {} : sidecar);
    steps.push(
      why === undefined
        ? removal('video', key, () => storage.removeKey(key))
        : { what: 'video', where: key, why },
    );
  }
  if (isOwnSidecar) steps.push(removal('sidecar', sidecarKey, () => storage.removeKey(sidecarKey)));
  return steps;
}

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
