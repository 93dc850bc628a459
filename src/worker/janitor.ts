import { Runtime } from '@temporalio/worker';
import { cleanText } from '../contract/clean-text';
import { LOG_EVENTS, type LogEvent } from '../contract/log-events';
import { canRemove, expireVideos, type RemovingStorage } from '../retention';
import type { VideoStorage } from '../storage';

const HOUR_MS = 3_600_000;
/** No running download goes this long without writing. */
const LEFTOVER_AFTER_MS = 24 * HOUR_MS;

async function expire(storage: RemovingStorage): Promise<void> {
  try {
    const { removed, shared, failed, jobs, error } = await expireVideos(storage);
    if (removed + shared > 0)
      logEvent('videosExpired', { removed, shared, jobs: jobs.map((job) => cleanText(job)) });
    if (failed > 0) throw error;
  } catch (error) {
    logEvent('videosNotExpired', { error: cleanText(String(error)) });
  }
}

/** The runtime may be the host's, with a logger of its own. */
function logEvent(event: LogEvent, fields: Record<string, unknown>): void {
  const { level, message } = LOG_EVENTS[event];
  Runtime.instance().logger[level](message, { event, ...fields });
}

/**
 * Removes from the storage, every hour, unfinished downloads of killed workers and videos that have expired. Returns a
 * function that stops it.
 */
export function startJanitor(storage: VideoStorage): () => void {
  let isExpiring = false;
  const sweep = async () => {
    try {
      const removed = (await storage.sweep?.(LEFTOVER_AFTER_MS)) ?? 0;
      if (removed > 0) logEvent('leftoversRemoved', { removed });
    } catch (error) {
      logEvent('leftoversNotRemoved', { error: cleanText(String(error)) });
    }
    // A bucket with very many expired videos may take longer than an hour.
    if (isExpiring || !canRemove(storage)) return;
    isExpiring = true;
    await expire(storage);
    isExpiring = false;
  };
  void sweep();
  const timer = setInterval(() => void sweep(), HOUR_MS);
  // The timer alone does not keep the process alive.
  timer.unref();
  return () => clearInterval(timer);
}
