import { imageKey, parseImageReference } from '../contract/image-reference';
import { isStored, StorageFault } from '../storage';
import { type ForgetOptions, type ForgottenParts, orStopped } from './forget-files';
import { readRecord, readRecordKey } from './job-records';
import type { RemovingStorage } from './removing-storage';

/** So many records are read to find out whether another job has the image. */
const MOST_RECORDS = 20_000;

export interface ImageToForget {
  /** As `image_url` has it. */
  reference: string;
  /** The records of the job itself. */
  ownRecords: readonly string[];
  /** Jobs that have not submitted yet have no record. Undefined when none of those needs it. */
  neededBy(): Promise<string | undefined>;
}

/** Removes an uploaded image that no other job has. */
export async function forgetImage(
  storage: RemovingStorage,
  { reference, ownRecords, neededBy }: ImageToForget,
  { dryRun }: Pick<ForgetOptions, 'dryRun'>,
): Promise<Pick<ForgottenParts, 'removed' | 'kept'>> {
  const parsed = parseImageReference(reference);
  const key = parsed && imageKey(parsed);
  if (key === undefined || !(await isStored(storage, key))) return { removed: [], kept: [] };
  const part = { what: 'image' as const, where: key };
  const why = (await neededBy()) ?? (await usedIn(storage, reference, new Set(ownRecords)));
  if (why !== undefined) return { removed: [], kept: [{ ...part, why }] };
  if (!dryRun) await orStopped(part, () => storage.removeKey(key));
  return { removed: [part], kept: [] };
}

async function usedIn(
  storage: RemovingStorage,
  reference: string,
  own: ReadonlySet<string>,
): Promise<string | undefined> {
  let read = 0;
  for await (const { key } of storage.list('jobs/')) {
    if (own.has(key) || readRecordKey(key) === undefined) continue;
    if (read++ === MOST_RECORDS) return `there are more than ${MOST_RECORDS} jobs that may use it`;
    const record = await readRecord(storage, key).catch((error: unknown) => {
      if (error instanceof StorageFault) return 'damaged' as const;
      throw error;
    });
    if (record === 'damaged') return `${key} cannot be read and may name it`;
    if (record?.request?.image_url === reference) return `${record.job ?? key} has the same image`;
  }
  return undefined;
}
