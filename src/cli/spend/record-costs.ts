import type { Period } from '../../client/paid-jobs';
import {
  DamagedRecord,
  type JobRecordContent,
  RECORD_FOLDER,
  readRecord,
  readRecordKey,
} from '../../retention';
import type { ListedFile, VideoStorage } from '../../storage';
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

/** A record that was not written since then is of a job that was submitted before. */
async function* mayBeInPeriod(files: AsyncIterable<ListedFile>, { since }: Period) {
  for await (const file of files) if (readRecordKey(file.key) && file.storedAt >= since) yield file;
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

async function readJob({ key, storedAt }: ListedFile, source: RecordSource): Promise<SpentJob | undefined> {
  try {
    const record = await readRecord(source.storage, key);
    // Undefined if somebody has removed it meanwhile.
    return record && jobOf(record, storedAt, source);
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error;
    source.onDamaged(key);
    return undefined;
  }
}

function jobOf(record: JobRecordContent, storedAt: Date, source: RecordSource): SpentJob | undefined {
  const { namespace, job: name, service, submittedAt, cost } = record;
  // The last POST made no task, and no earlier one may have.
  const madeNoTask = record.state === 'refused' && record.lostSubmit === undefined;
  if (name === undefined || namespace !== source.namespace || madeNoTask) return undefined;
  const at = timeOf(submittedAt) ?? ('at' in record ? timeOf(record.at) : undefined) ?? storedAt;
  const { since, until } = source.period;
  if (at < since || at >= until) return undefined;
  const taskId = 'taskId' in record ? record.taskId : undefined;
  return { name, at, taskId, service, cost };
}

function timeOf(text: string | undefined): Date | undefined {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime()) ? undefined : time;
}
