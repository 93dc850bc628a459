import type { VideoStorage } from './storage';

/** Whether there is a file under a key. Nothing of it is read. */
export async function isStored(storage: Pick<VideoStorage, 'read'>, key: string): Promise<boolean> {
  const stored = await storage.read(key);
  stored?.destroy();
  return stored !== undefined;
}
