import { Runtime } from '@temporalio/worker';
import { cleanText } from '../contract/clean-text';
import type { VideoStorage } from '../storage';

const HOUR_MS = 3_600_000;
/** No attempt at a download goes on for so long without writing. */
const LEFT_AFTER_MS = 24 * HOUR_MS;

/** Clears away now and then what killed workers left in the storage; answers how to stop that. */
export function startJanitor(storage: VideoStorage): () => void {
  const sweep = async () => {
    const { logger } = Runtime.instance();
    try {
      const removed = (await storage.sweep?.(LEFT_AFTER_MS)) ?? 0;
      if (removed > 0) logger.info('removed what unfinished downloads had left', { removed });
    } catch (error) {
      logger.warn('could not look for what unfinished downloads left', { error: cleanText(String(error)) });
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), HOUR_MS);
  // It is no reason to keep a process alive.
  timer.unref();
  return () => clearInterval(timer);
}
