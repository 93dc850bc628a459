import { Runtime } from '@temporalio/worker';
import { cleanText } from '../contract/clean-text';
import type { VideoStorage } from '../storage';

const HOUR_MS = 3_600_000;
/** No running download goes this long without writing. */
const LEFTOVER_AFTER_MS = 24 * HOUR_MS;

/** Removes unfinished downloads of killed workers from the storage, every hour. Returns a function that stops it. */
export function startJanitor(storage: VideoStorage): () => void {
  const sweep = async () => {
    const { logger } = Runtime.instance();
    try {
      const removed = (await storage.sweep?.(LEFTOVER_AFTER_MS)) ?? 0;
      if (removed > 0) logger.info('removed leftovers of unfinished downloads', { removed });
    } catch (error) {
      logger.warn('could not remove leftovers of unfinished downloads', { error: cleanText(String(error)) });
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), HOUR_MS);
  // The timer alone does not keep the process alive.
  timer.unref();
  return () => clearInterval(timer);
}
