import { setTimeout as sleep } from 'node:timers/promises';

// Far longer than a busy machine needs, and shorter than jest's timeout, after which the loop would keep running.
const GIVE_UP_AFTER_MS = 30_000;

export async function eventually(what: string, condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  while (!condition()) {
    if (Date.now() > giveUpAt) throw new Error(`${what}: not within ${GIVE_UP_AFTER_MS / 1_000} s`);
    await sleep(20);
  }
}
