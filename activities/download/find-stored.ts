import type { StoredEntry } from '../../src/storage/job-record';
import { isSameVideo } from '../../src/storage/same-video';
import type { VideoStorage } from '../../src/storage/storage';
import { asStorageFault } from '../../src/storage/storage-fault';
import { logEvent } from '../log-event';

/** The stored video of this task, if the storage still has what is on record, byte for byte. */
export async function findStored(
  stored: StoredEntry,
  { taskId, storage: requestedKey }: { taskId: string; storage?: string },
  storage: VideoStorage,
): Promise<Pick<StoredEntry, 'video' | 'warnings'> | undefined> {
  const { key, video, warnings } = stored;
  if (stored.taskId !== taskId) return undefined;
  if (!(await isIntact(stored, storage))) {
    logEvent('storedVideoGone', { taskId, key });
    return undefined;
  }
  const isElsewhere = requestedKey !== undefined && requestedKey !== stored.storage;
  return {
    video,
    warnings: [
      ...warnings,
      ...(isElsewhere ? [`the video was stored before as ${key} and stays there`] : []),
    ],
  };
}

async function isIntact({ key, video }: StoredEntry, storage: VideoStorage): Promise<boolean> {
  return asStorageFault(async () => {
    const content = await storage.read(key);
    return content !== undefined && isSameVideo({ bytes: undefined, content }, video);
  });
}
