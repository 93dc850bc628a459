import type { InspectionOrder } from './inspect-order';
import type { VideoInspection } from './inspect-video';
import { Inspector } from './inspector';

/** So many downloads that end together take no more memory than this many looks, each of some hundredths of a second. */
const MOST_AT_ONCE = 2;
/** A batch ends a video every few seconds; a process takes a tenth of a second to start. */
const IDLE_MS = 5_000;

const TOO_MUCH: VideoInspection = {
  kind: 'no-video',
  reason: 'its tables take more time or memory to read than those of any video',
};

const idle: Inspector[] = [];
const waiting: (() => void)[] = [];
let looking = 0;

/**
 * Looks at a video in another process, which can be ended whatever it does. A thread is not enough: its heap is bounded
 * in steps, and a single allocation beyond the bound ends the whole process, which is one line of a reader over a table
 * that a stranger wrote.
 */
export async function inspectApart(order: InspectionOrder): Promise<VideoInspection> {
  if (looking === MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else looking++;
  try {
    const used = takeIdle();
    const look = (used && (await lookWith(used, order))) ?? (await lookWith(await Inspector.start(), order));
    // Only a process that had looked at nothing before is believed about what it ended over.
    return look ?? TOO_MUCH;
  } finally {
    const next = waiting.shift();
    if (next) next();
    else looking--;
  }
}

async function lookWith(looker: Inspector, order: InspectionOrder): Promise<VideoInspection | undefined> {
  const look = await looker.look(order);
  if (look) keepIdle(looker);
  return look;
}

function takeIdle(): Inspector | undefined {
  for (let looker = idle.pop(); looker; looker = idle.pop()) {
    if (looker.hasEnded) continue;
    looker.wake();
    return looker;
  }
  return undefined;
}

function keepIdle(looker: Inspector): void {
  looker.rest();
  idle.push(looker);
  setTimeout(() => {
    const place = idle.indexOf(looker);
    if (place < 0) return;
    idle.splice(place, 1);
    looker.kill();
  }, IDLE_MS).unref();
}
