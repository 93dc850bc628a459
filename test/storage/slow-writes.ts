import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoStorage } from '../../src/storage';

export interface SlowWrite {
  /** In a bucket, with its prefix in front. */
  key: RegExp;
  /** Which of the writes with such a key, counted from 1; the first unless given. */
  nth?: number | 'every';
  /** Forever means until `land` is called. */
  delayMs: number | 'forever';
}

/** Which writes of a storage are slow. Give it to one storage. A slow write lands although its writer has given it up. */
export class SlowWrites {
  private readonly plan: { write: SlowWrite; seen: number }[];
  private readonly releases: (() => void)[] = [];
  private readonly landing = new Set<Promise<unknown>>();
  private heldCount = 0;

  constructor(...writes: SlowWrite[]) {
    this.plan = writes.map((write) => ({ write, seen: 0 }));
  }

  /** How many writes have been slow so far. */
  get held(): number {
    return this.heldCount;
  }

  /** Lets stalled writes go on, and waits until every slow write has landed or was refused. */
  async land(): Promise<void> {
    for (const release of this.releases.splice(0)) release();
    await Promise.allSettled([...this.landing]);
  }

  /** Runs a write, late if it is one of the slow ones. */
  async run<T>(key: string, write: () => Promise<T>): Promise<T> {
    const slow = this.next(key);
    if (slow === undefined) return write();
    this.heldCount += 1;
    const landing = this.runLate(slow, write);
    this.landing.add(landing);
    const done = () => this.landing.delete(landing);
    landing.then(done, done);
    return landing;
  }

  private async runLate<T>(slow: SlowWrite, write: () => Promise<T>): Promise<T> {
    await this.wait(slow);
    return write();
  }

  private next(key: string): SlowWrite | undefined {
    const matching = this.plan.filter(({ write }) => write.key.test(key));
    for (const each of matching) each.seen += 1;
    return matching.find(({ write: { nth = 1 }, seen }) => nth === 'every' || seen === nth)?.write;
  }

  private async wait({ delayMs }: SlowWrite): Promise<void> {
    if (delayMs === 'forever') await new Promise<void>((release) => this.releases.push(release));
    else await sleep(delayMs);
  }
}

/** A storage whose calls of `create` and `write` are slow. */
export function slowStorage(storage: VideoStorage, writes: SlowWrites): VideoStorage {
  return {
    ...storage,
    write: (key, ...rest) => writes.run(key, () => storage.write(key, ...rest)),
    create: (key, content) => writes.run(key, () => storage.create(key, content)),
  };
}
