import { type ExtraName, extraKey, extraNamesIn, type StoredExtras } from '../contract/extras';
import { fileName, isStored, StorageFault } from '../storage';
import { dueKey } from './due-marks';
import { ForgetStopped } from './forget-stopped';
import {
  digestOfJob,
  type JobName,
  type JobRecordContent,
  readRecord,
  readRecordKey,
  recordId,
  recordKey,
  writeForgotten,
} from './job-records';
import { KeyUsers } from './key-users';
import {
  extrasOf,
  removeVideo,
  sidecarOf,
  type VideoOfJob,
  whoElseUses,
  writerOfSidecar,
} from './remove-video';
import type { RemovingStorage } from './removing-storage';

/** The parts of a job that can be removed. */
export const FORGOTTEN_PARTS = [
  'video',
  'sidecar',
  'extra',
  'bad-download',
  'part',
  'image',
  'record',
  'results',
  'requests',
  'webhook',
  'execution',
] as const;

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
  /** The keys of markers, which are all that stays of records. */
  markers: string[];
}

/** What Temporal and the results of a batch know of a job; its records know the rest. */
export interface JobToForget extends JobName {
  video?: { uri: string; expiresAt?: string | undefined } | undefined;
  /** The pictures beside the video. */
  extras?: StoredExtras | undefined;
  taskId?: string | undefined;
  /** A download that was kept although it is no video. */
  badUri?: string | undefined;
  /** Of a job that may have paid for a task: if no record is there, a marker is made from it. */
  paidRequest?: object | undefined;
  /** The keys of its records, for those who have listed them. */
  recordKeys?: readonly string[] | undefined;
}

export interface ForgetOptions {
  dryRun: boolean;
  keepMarker: boolean;
}

/** A record of a job and its key. */
export interface FoundRecord {
  key: string;
  content: JobRecordContent;
}

/** The keys of records whose job's file name begins so, by that name. */
export async function recordKeys(storage: RemovingStorage, start: string): Promise<Map<string, string[]>> {
  const keys = new Map<string, string[]>();
  for await (const { key } of storage.list(`jobs/${start}`)) {
    const { name } = readRecordKey(key) ?? {};
    if (name !== undefined) keys.set(name, [...(keys.get(name) ?? []), key]);
  }
  return keys;
}

/** The records of a job, one for each request that its name was used for. */
export async function recordsOf(
  storage: RemovingStorage,
  { namespace, job, recordKeys: known }: JobToForget,
): Promise<FoundRecord[]> {
  const name = fileName(job);
  const found: FoundRecord[] = [];
  for (const key of known ?? (await recordKeys(storage, `${name}.`)).get(name) ?? []) {
    const content = await readRecord(storage, key);
    // Several namespaces may share a storage.
    if (content !== undefined && (content.namespace ?? namespace) === namespace) found.push({ key, content });
  }
  return found;
}

/**
 * Removes what a job has in the storage: first what its records point to, then the records, which become markers. So a run that
 * is killed anywhere is finished by the next.
 */
export async function forgetFiles(
  storage: RemovingStorage,
  job: JobToForget,
  records: readonly FoundRecord[],
  options: ForgetOptions,
): Promise<ForgottenParts> {
  const work = new FileRemoval(storage, job, options);
  for (const video of videosOf(storage, job, records)) await work.removeVideo(video);
  if (job.badUri !== undefined) await work.removeFile('bad-download', storage.keyOf?.(job.badUri));
  for (const record of records) await work.removeRecord(record);
  if (records.length === 0) await work.markPaid();
  return work.done;
}

/** Removes the video of a job that stays on record, with what belongs to the video. */
export async function forgetVideo(storage: RemovingStorage, job: JobToForget): Promise<void> {
  const work = new FileRemoval(storage, job, { dryRun: false, keepMarker: true });
  for (const video of videosOf(storage, job, [])) await work.removeVideo(video);
}

interface KnownVideo extends VideoOfJob {
  uri: string;
  taskId?: string | undefined;
  expiresAt?: string | undefined;
}

function videosOf(storage: RemovingStorage, job: JobToForget, records: readonly FoundRecord[]): KnownVideo[] {
  const { namespace, job: name, video, taskId } = job;
  const extras = extraNamesIn(job.extras);
  const videos = new Map<string, KnownVideo>();
  const key = video && storage.keyOf?.(video.uri);
  if (video && key !== undefined) videos.set(key, { namespace, job: name, key, taskId, extras, ...video });
  for (const { content } of records) {
    if (content.state !== 'stored') continue;
    const { uri, expiresAt } = content.video;
    const ofResult = videos.get(content.key)?.extras ?? [];
    videos.set(content.key, {
      extras: [...new Set([...ofResult, ...extraNamesIn(content.extras)])],
      namespace,
      job: name,
      key: content.key,
      taskId: content.taskId,
      uri,
      expiresAt,
    });
  }
  return [...videos.values()];
}

class FileRemoval {
  readonly done: ForgottenParts = { removed: [], kept: [], markers: [] };

  constructor(
    private readonly storage: RemovingStorage,
    private readonly job: JobToForget,
    private readonly options: ForgetOptions,
  ) {}

  async removeVideo(video: KnownVideo): Promise<void> {
    const { storage, done } = this;
    const { key, uri, taskId, expiresAt } = video;
    const hadVideo = (await storage.storedAt(key)) !== undefined;
    const isOwnSidecar = (await writerOfSidecar(storage, key)) === video.job;
    const extras = await this.storedExtras(video);
    const usedBy = await this.doing('video', uri, async () => {
      if (this.options.dryRun) return whoElseUses(storage, video);
      const removal = await removeVideo(storage, video);
      return 'usedBy' in removal ? removal.usedBy : [];
    });
    if (usedBy.length > 0) {
      done.kept.push({ what: 'video', where: uri, why: `${usedBy.join(', ')} uses the same file` });
      // It has the request of this job.
      if (isOwnSidecar) await this.removeFile('sidecar', sidecarOf(key));
    } else {
      if (hadVideo) done.removed.push({ what: 'video', where: uri });
      done.removed.push(...extras.map((name) => ({ what: 'extra' as const, where: extraKey(key, name) })));
      if (isOwnSidecar) done.removed.push({ what: 'sidecar', where: sidecarOf(key) });
    }
    await this.removeFile('bad-download', `${key}.bad`);
    if (this.options.dryRun) return;
    await this.doing('part', key, async () => {
      const parts = taskId === undefined ? 0 : ((await storage.removeParts?.(key, taskId)) ?? 0);
      for (let part = 0; part < parts; part++) done.removed.push({ what: 'part', where: key });
      if (expiresAt !== undefined) await storage.removeKey(dueKey({ ...video, expiresAt }));
      await new KeyUsers(storage, key).remove(video);
    });
  }

  /** Those that are there, to be named. */
  private async storedExtras(video: KnownVideo): Promise<ExtraName[]> {
    const stored: ExtraName[] = [];
    for (const name of await extrasOf(this.storage, video))
      if (await isStored(this.storage, extraKey(video.key, name))) stored.push(name);
    return stored;
  }

  async removeFile(what: ForgottenPart['what'], key: string | undefined): Promise<void> {
    const { storage } = this;
    if (key === undefined || !(await isStored(storage, key))) return;
    if (!this.options.dryRun) await this.doing(what, key, () => storage.removeKey(key));
    this.done.removed.push({ what, where: key });
  }

  /** A record of a submit that made no task protects nothing. */
  async removeRecord({ key, content }: FoundRecord): Promise<void> {
    const { storage, done, options } = this;
    const isMarker = content.state === 'forgotten';
    const paidNothing = content.state === 'refused' && content.lostSubmit === undefined;
    const becomesMarker = options.keepMarker && !paidNothing;
    if (becomesMarker) done.markers.push(key);
    if (isMarker && becomesMarker) return;
    done.removed.push({ what: 'record', where: key });
    if (options.dryRun) return;
    await this.doing('record', key, () =>
      becomesMarker ? writeForgotten(storage, key, this.job) : storage.removeKey(key),
    );
  }

  /** Its record is gone, and so will be its execution: nothing else would keep it from being paid again. */
  async markPaid(): Promise<void> {
    const { paidRequest } = this.job;
    if (paidRequest === undefined || !this.options.keepMarker) return;
    const key = recordKey(this.job.job, recordId(digestOfJob(this.job, paidRequest)));
    this.done.markers.push(key);
    if (this.options.dryRun) return;
    await this.doing('record', key, () => writeForgotten(this.storage, key, this.job));
  }

  private doing<T>(what: ForgottenPart['what'], where: string, work: () => Promise<T>): Promise<T> {
    return orStopped({ what, where }, work);
  }
}

export async function orStopped<T>({ what, where }: ForgottenPart, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    throw new ForgetStopped(
      `The ${WORDS[what]} ${where} could not be removed (${error.message}): let this user remove files there, and run it again. What is left is found again.`,
      { cause: error },
    );
  }
}

const WORDS: Record<ForgottenPart['what'], string> = {
  video: 'video',
  sidecar: 'sidecar',
  extra: 'extra',
  'bad-download': 'bad download',
  part: 'unfinished download of',
  image: 'image',
  record: 'record',
  results: 'file of results',
  requests: 'file of requests',
  webhook: 'webhook',
  execution: 'execution',
};
