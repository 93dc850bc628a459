import type { VideoLook } from './inspect-video';
import type { LookOrder } from './look-order';
import { Looker } from './looker';

/** So many downloads that end together take no more memory than this many looks, each of some hundredths of a second. */
const MOST_AT_ONCE = 2;
/** A batch ends a video every few seconds; a process takes a tenth of a second to start. */
const IDLE_MS = 5_000;

const TOO_MUCH: VideoLook = {
  kind: 'no-video',
  reason: 'its tables take more time or memory to read than those of any video',
};

const idle: Looker[] = [];
const waiting: (() => void)[] = [];
let looking = 0;

/**
 * Looks at a video in another process, which can be ended whatever it does. A thread is not enough: its heap is bounded
 * in steps, and a single allocation beyond the bound ends the whole process, which is one line of a reader over a table
 * that a stranger wrote.
 */
export async function lookApart(order: LookOrder): Promise<VideoLook> {
  if (looking === MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else looking++;
  try {
    const used = takeIdle();
    const look = (used && (await lookWith(used, order))) ?? (await lookWith(await Looker.start(), order));
    // Only a process that had looked at nothing before is believed about what it ended over.
    return look ?? TOO_MUCH;
  } finally {
    const next = waiting.shift();
    if (next) next();
    else looking--;
  }
}

async function lookWith(looker: Looker, order: LookOrder): Promise<VideoLook | undefined> {
  const look = await looker.look(order);
  if (look) keepIdle(looker);
  return look;
}

function takeIdle(): Looker | undefined {
  for (let looker = idle.pop(); looker; looker = idle.pop()) {
    if (looker.hasEnded) continue;
    looker.wake();
    return looker;
  }
  return undefined;
}

function keepIdle(looker: Looker): void {
  looker.rest();
  idle.push(looker);
  setTimeout(() => {
    const place = idle.indexOf(looker);
    if (place < 0) return;
    idle.splice(place, 1);
    looker.kill();
  }, IDLE_MS).unref();
}
