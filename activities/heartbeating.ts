import { heartbeat } from '@temporalio/activity';
import { HEARTBEAT_EVERY_MS } from '../src/contract/policies';

/** Beats at once and while the work lasts, each time with what `note` says then. */
export async function whileHeartbeating<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  heartbeat(note());
  const beats = setInterval(() => heartbeat(note()), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}
