import type { ServerProcess } from './server-process';

// A start takes one second, or several on a busy machine. After this long, waiting does not help.
const START_TIMEOUT_MS = 60_000;

/** Waits until a new server is ready. Returns what is wrong if it does not become ready. */
export async function whyNotReady(
  server: ServerProcess,
  untilReady: (signal: AbortSignal) => Promise<void>,
): Promise<string | undefined> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), START_TIMEOUT_MS);
  const ready = untilReady(limit.signal).then(
    () => true,
    () => false,
  );
  const isReady = await Promise.race([ready, server.ended.then(() => false)]);
  clearTimeout(timer);
  limit.abort();
  if (!server.isRunning) {
    await server.ended;
    return server.howItEnded();
  }
  return isReady ? undefined : `was not ready after ${START_TIMEOUT_MS / 1_000} s: ${server.output}`;
}
