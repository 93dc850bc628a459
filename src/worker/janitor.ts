import { Runtime } from '@temporalio/worker';
import { cleanText } from '../contract/clean-text';
import { LOG_EVENTS, type LogEvent } from '../contract/log-events';
import { sweepParts, type VideoStorage } from '../storage';

const HOUR_MS = 3_600_000;
/** No running download goes this long without writing. */
const LEFTOVER_AFTER_MS = 24 * HOUR_MS;

/** Removes unfinished downloads of killed workers from the storage, every hour. Returns a function that stops it. */
export function startJanitor(storage: VideoStorage): () => void {
  const sweep = async () => {
    try {
      const removed = await sweepParts(storage, LEFTOVER_AFTER_MS);
      if (removed > 0) logEvent('leftoversRemoved', { removed });
    } catch (error) {
      logEvent('leftoversNotRemoved', { error: cleanText(String(error)) });
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), HOUR_MS);
  // The timer alone does not keep the process alive.
  timer.unref();
  return () => clearInterval(timer);
}

/** The runtime may be the host's, with a logger of its own. */
function logEvent(event: LogEvent, fields: Record<string, unknown>): void {
  const { level, message } = LOG_EVENTS[event];
  Runtime.instance().logger[level](message, { event, ...fields });
}
