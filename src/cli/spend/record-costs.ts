import { dirname } from 'node:path/posix';
import type { Period } from '../../client/paid-jobs';
import { mergeCosts, withLostSubmits } from '../../contract/job-cost';
import {
  DamagedEntry,
  type ListedFile,
  RECORD_FOLDER,
  type RecordedJob,
  readRecordAt,
  recordOfKey,
  type VideoStorage,
} from '../../storage';
import type { SpentJob } from './spend-book';

/** A storage far away answers each read in a tenth of a second. */
const READS_AT_ONCE = 16;

export interface RecordSource {
  storage: VideoStorage;
  namespace: string;
  period: Period;
  /** Called with the key of a file that is no record any more. */
  onDamaged(key: string): void;
}

/** The jobs and items of batches in the records of a storage. Undefined if the storage cannot list its files. */
export function recordedJobs(source: RecordSource): AsyncIterable<SpentJob> | undefined {
  const files = source.storage.list?.(RECORD_FOLDER);
  return files && jobsIn(files, source);
}

async function* jobsIn(files: AsyncIterable<ListedFile>, source: RecordSource): AsyncGenerator<SpentJob> {
  for await (const group of inGroups(mayBeInPeriod(files, source.period), READS_AT_ONCE)) {
    const read = await Promise.all(group.map((file) => readJob(file, source)));
    yield* read.filter((job) => job !== undefined);
  }
}

/** Of each record its first entry. A record without an entry since then is of a job that was submitted before. */
async function* mayBeInPeriod(files: AsyncIterable<ListedFile>, { since }: Period) {
  let first: ListedFile | undefined;
  let isInPeriod = false;
  for await (const file of files) {
    if (recordOfKey(file.key)) {
      if (first && isInPeriod) yield first;
      first = file;
      isInPeriod = false;
    }
    const isOfRecord = first !== undefined && dirname(file.key) === dirname(first.key);
    isInPeriod ||= isOfRecord && file.storedAt >= since;
  }
  if (first && isInPeriod) yield first;
}

async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

async function readJob({ key }: ListedFile, source: RecordSource): Promise<SpentJob | undefined> {
  try {
    return jobOf(await readRecordAt(source.storage, key), source);
  } catch (error) {
    if (!(error instanceof DamagedEntry)) throw error;
    source.onDamaged(key);
    return undefined;
  }
}

function jobOf(recorded: RecordedJob, { namespace, period }: RecordSource): SpentJob | undefined {
  const { since, until } = period;
  const { task, stored, lastSend, paidSends } = recorded;
  const [first] = recorded.entries;
  const at = new Date(lastSend?.at ?? first?.at ?? '');
  if (first === undefined || first.namespace !== namespace || at < since || at >= until) return undefined;
  if (task === undefined && paidSends.length === 0) return undefined;
  const cost = mergeCosts(lastSend?.cost, mergeCosts(task?.cost, stored?.cost));
  return {
    name: first.job,
    at,
    taskId: task?.taskId,
    service: task?.service ?? lastSend?.service ?? cost?.service,
    cost: withLostSubmits(cost, paidSends.length - (task === undefined ? 0 : 1)),
  };
}
