import { createHash } from 'node:crypto';
import { cleanText, jsonIn } from '../contract/clean-text';
import { asStorageFault, type JobName, type RemovingStorage, readSmallFile, recordsOf } from '../storage';

/** Something that a job has left: a file in the storage, or an execution in Temporal. */
export interface ForgottenPart {
  what: 'video' | 'sidecar' | 'record' | 'results' | 'webhook' | 'execution';
  where: string;
}

export interface KeptPart extends ForgottenPart {
  why: string;
}

/** What was removed, or would be, and what stays. */
export class Removals {
  private readonly parts = new Map<string, ForgottenPart & Partial<KeptPart>>();

  constructor(readonly dryRun: boolean = false) {}

  /** `remove` may find that the part stays, and say why. */
  async remove(part: ForgottenPart, remove: () => Promise<unknown>): Promise<void> {
    const why = this.dryRun ? undefined : await remove();
    this.parts.set(part.where, { ...part, ...(typeof why === 'string' && { why }) });
  }

  /** A name may have stored several videos under one key: the one that is there may be found before or after. */
  keep(part: ForgottenPart, why: string): void {
    if (!this.parts.has(part.where)) this.parts.set(part.where, { ...part, why });
  }

  get removed(): ForgottenPart[] {
    return [...this.parts.values()].filter(({ why }) => why === undefined);
  }

  get kept(): KeptPart[] {
    return [...this.parts.values()].filter((part): part is KeptPart => part.why !== undefined);
  }
}

/** The video that a job stored for its task. */
interface VideoOfTask extends JobName {
  taskId: string;
  key: string;
  sha256: string;
}

/**
 * The videos of a job, then the records that name them: so a run that is killed anywhere is finished by the next. False if the
 * job has no record. One that was forgotten before has.
 */
export async function forgetFiles(
  storage: RemovingStorage,
  name: JobName,
  recordIds: readonly string[],
  removals: Removals,
): Promise<boolean> {
  const records = await recordsOf(storage, name, recordIds);
  for (const { recorded } of records) {
    if (recorded.stored === undefined) continue;
    const { key, taskId, video } = recorded.stored;
    await removeVideo(storage, { ...name, key, taskId, sha256: video.sha256 }, removals);
  }
  for (const { record, recorded } of records) {
    if (recorded.entries.every(({ event }) => event === 'forgotten')) continue;
    await removals.remove({ what: 'record', where: record.key }, () => record.forget(storage));
  }
  return records.length > 0;
}

/**
 * Removes the video of a task and its sidecar, if they are this task's: another job may have stored a video under the key since,
 * and anybody may have put a file next to it. Repeated after a kill, it finishes.
 */
export async function removeVideo(
  storage: RemovingStorage,
  video: VideoOfTask,
  removals: Removals = new Removals(),
): Promise<void> {
  const { key, taskId, job, namespace, sha256 } = video;
  // Anybody may have written it.
  const content = await readSmallFile(storage, `${key}.json`);
  const sidecar: Record<string, unknown> = Object(jsonIn(content ?? ''));
  const isOwnSidecar =
    sidecar.taskId === taskId && sidecar.workflowId === job && sidecar.namespace === namespace;
  // A sidecar of other bytes was left behind by a video that is gone, and says nothing about this one.
  const isShared =
    !isOwnSidecar && typeof sidecar.taskId === 'string' && Object(sidecar.video).sha256 === sha256;
  const stored = await digestOf(storage, key);
  const part: ForgottenPart = { what: 'video', where: key };
  if (stored === sha256 && !isShared) await removeKey(storage, part, removals);
  else if (stored === sha256)
    removals.keep(part, `${cleanText(String(sidecar.workflowId))} has the same file`);
  else if (stored !== undefined) removals.keep(part, 'another file is stored there now');
  if (isOwnSidecar) await removeKey(storage, { what: 'sidecar', where: `${key}.json` }, removals);
}

export const removeKey = (storage: RemovingStorage, part: ForgottenPart, removals: Removals) =>
  removals.remove(part, () => storage.removeKey(part.where));

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
