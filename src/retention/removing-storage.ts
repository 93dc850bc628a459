import type { VideoStorage } from '../storage';

const NEEDED = ['list', 'removeKey', 'storedAt'] as const;

/** A storage that can find and remove what jobs left in it. */
export type RemovingStorage = VideoStorage & Required<Pick<VideoStorage, (typeof NEEDED)[number]>>;

/** A storage of the user's own may not be able to. */
export function canRemove(storage: VideoStorage): storage is RemovingStorage {
  return NEEDED.every((method) => storage[method] !== undefined);
}
