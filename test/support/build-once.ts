import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findOnSearchPath } from '../../src/temporal-server/child-process';

const CHECK_EVERY_MS = 250;

/**
 * Returns the folder `cacheFolder/name`, and has it built if it does not exist: next to it, then renamed, so it is never half built.
 * Test files that need it at once wait for the first. If two build it anyway, the first to finish is used.
 */
export async function buildOnce(
  cacheFolder: string,
  name: string,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const finished = join(cacheFolder, name);
  const lock = `${finished}.lock`;
  await mkdir(cacheFolder, { recursive: true });
  while (
    !(await exists(finished)) &&
    !(await writeFile(lock, `${process.pid}`, { flag: 'wx' }).then(yes, no))
  ) {
    if (isGone(Number(await readFile(lock, 'utf8').catch(() => '')))) await rm(lock, { force: true });
    await sleep(CHECK_EVERY_MS);
  }
  if (await exists(finished)) return finished;
  const folder = `${finished}.${process.pid}.build`;
  try {
    await mkdir(folder);
    await build(folder);
    await rename(folder, finished);
  } catch (error) {
    if (!(await exists(finished))) throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
  return finished;
}

const yes = () => true;
const no = () => false;
const exists = (path: string) => stat(path).then(yes, no);

/** A lock that is just being written has no pid yet. */
function isGone(pid: number): boolean {
  try {
    return pid > 0 && !process.kill(pid, 0);
  } catch {
    return true;
  }
}

export async function requireOnSearchPath(name: string, searchPath?: string): Promise<string> {
  const path = await findOnSearchPath(name, searchPath);
  if (path === undefined) throw new Error(`there is no \`${name}\` on the search path`);
  return path;
}
