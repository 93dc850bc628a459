import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Holder, isAlive, isDead, ProcessLock, SILENT_AFTER_MS } from './process-lock';
import type { OnProgress } from './sign-of-life';

// Short compared with any build, long compared with the few file operations of one check.
const CHECK_EVERY_MS = 250;

const LEFTOVER = /\.(?<pid>\d+)-[0-9a-f-]{36}\.(claim|build)$/;

type Build = (folder: string) => Promise<void>;

/**
 * Returns the folder `cacheFolder/name` and builds it if it does not exist. The build runs in a sibling folder that is
 * renamed when complete, so `name` is never half built. The lock only saves work: if two builds run anyway (for example,
 * one was suspended for minutes), the first to finish is used.
 */
export async function buildOnce(
  cacheFolder: string,
  name: string,
  build: Build,
  onProgress: OnProgress = () => undefined,
): Promise<string> {
  const finished = join(cacheFolder, name);
  await mkdir(cacheFolder, { recursive: true });
  const lock = new ProcessLock(`${finished}.lock`);
  if (!(await takeUnlessFinished(lock, finished, onProgress))) return finished;
  try {
    await removeLeftovers(cacheFolder, name);
    // Another process may have finished between the last check and taking the lock.
    if (!(await exists(finished))) await buildInto(finished, `${finished}.${lock.token}.build`, build);
    return finished;
  } finally {
    await lock.release();
  }
}

async function takeUnlessFinished(
  lock: ProcessLock,
  finished: string,
  onProgress: OnProgress,
): Promise<boolean> {
  let watched: { holder: Holder; sinceMs: number } | undefined;
  while (!(await exists(finished))) {
    const holder = await lock.holder();
    if (holder === undefined) {
      if (await lock.tryTake()) return true;
      continue;
    }
    if (holder.token !== watched?.holder.token) {
      onProgress(
        `Waiting for process ${holder.pid} on ${holder.host}, which is already building ${finished}.`,
      );
    }
    // Silence is measured with our own clock: two machines that share a folder may disagree about the time.
    if (holder.token !== watched?.holder.token || holder.lastBeatMs !== watched.holder.lastBeatMs) {
      watched = { holder, sinceMs: performance.now() };
    }
    if (isDead(holder) || performance.now() - watched.sinceMs > SILENT_AFTER_MS)
      await lock.free(holder.token);
    else await sleep(CHECK_EVERY_MS);
  }
  return false;
}

async function buildInto(finished: string, folder: string, build: Build): Promise<void> {
  try {
    await mkdir(folder);
    await build(folder);
    await rename(folder, finished);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (!(await exists(finished))) throw error;
  }
}

async function removeLeftovers(cacheFolder: string, name: string): Promise<void> {
  for (const entry of await readdir(cacheFolder)) {
    const pid = entry.startsWith(`${name}.`) ? LEFTOVER.exec(entry)?.groups?.pid : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) {
      await rm(join(cacheFolder, entry), { recursive: true, force: true });
    }
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
