import { createHash } from 'node:crypto';
import { asStorageFault, type VideoStorage } from '../../src/storage';
import type { JobRecordFile, StoredRecord } from '../job-record';
import { logEvent } from '../log-event';
import type { VideoKeeping } from './keep-video';

/** The stored video of this task, if it is on record and the storage still has it, byte for byte. */
export async function findStored(
  record: JobRecordFile,
  { taskId, storage: requestedKey }: { taskId: string; storage?: string },
  { storage, keeping }: { storage: VideoStorage; keeping: Pick<VideoKeeping, 'renew'> },
): Promise<Pick<StoredRecord, 'video' | 'warnings'> | undefined> {
  const found = await record.read();
  if (found?.state !== 'stored' || found.taskId !== taskId) return undefined;
  // Before the file is read: whoever removes videos leaves it from here on.
  const kept = await keeping.renew(found);
  if (kept === undefined) return undefined;
  if (!(await isIntact(found, storage))) {
    logEvent('storedVideoGone', { taskId, key: found.key });
    return undefined;
  }
  if (kept !== found.video) await record.writeStored({ ...found, video: kept });
  const { key, warnings } = found;
  const video = kept;
  const isElsewhere = requestedKey !== undefined && requestedKey !== found.storage;
  return {
    video,
    warnings: [
      ...warnings,
      ...(isElsewhere ? [`the video was stored before as ${key} and stays there`] : []),
    ],
  };
}

async function isIntact({ key, video }: StoredRecord, storage: VideoStorage): Promise<boolean> {
  return asStorageFault(async () => {
    const stored = await storage.read(key);
    if (stored === undefined) return false;
    const hash = createHash('sha256');
    for await (const chunk of stored) hash.update(chunk);
    return hash.digest('hex') === video.sha256;
  });
}
