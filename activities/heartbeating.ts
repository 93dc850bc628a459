import { heartbeat } from '@temporalio/activity';
import { HEARTBEAT_EVERY_MS } from '../src/contract/policies';

/** Beats at once and while the work lasts, each time with what `note` says then. */
export async function whileHeartbeating<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  heartbeat(note());
  return whileAlive(note, work);
}

/** The same without the first beat, for work that is mostly over before the second: each one that is sent costs. */
export async function whileAlive<T>(note: () => unknown, work: () => Promise<T>): Promise<T> {
  const beats = setInterval(() => heartbeat(note()), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}
