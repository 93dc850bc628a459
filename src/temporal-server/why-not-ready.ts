import type { ServerProcess } from './server-process';

// An idle machine needs one second and a busy one several; past this something is wrong that waiting does not fix.
const START_TIMEOUT_MS = 60_000;

/** Waits until a server that was just started is ready; what is wrong with one that does not get there. */
export async function whyNotReady(
  server: ServerProcess,
  untilReady: (signal: AbortSignal) => Promise<void>,
): Promise<string | undefined> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), START_TIMEOUT_MS);
  const ready = untilReady(over.signal).then(
    () => true,
    () => false,
  );
  const isReady = await Promise.race([ready, server.ended.then(() => false)]);
  clearTimeout(timer);
  over.abort();
  if (!server.isRunning) {
    await server.ended;
    return server.howItEnded();
  }
  return isReady ? undefined : `was not ready after ${START_TIMEOUT_MS / 1_000} s: ${server.output}`;
}
