import { randomUUID } from 'node:crypto';
import { mkdir, rm, rmdir, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createFileStorage } from '../../storage';
import { readStorageConfig } from '../../storage-config';
import { type Check, type Finding, ok, warning, wrong } from './check';
import { checkBucket } from './check-bucket';
import { codeOf, wordsOf } from './told-error';

const GIB = 1024 ** 3;
const ENOUGH_BYTES = GIB;

const ELSEWHERE = 'or set VIDEOGEN_STORAGE to another folder';
const A_FILE = `A file stands where a folder is to be: move it away, ${ELSEWHERE}.`;
const NOT_ALLOWED = `Let this user write there, ${ELSEWHERE}.`;

const BY_CODE: Record<string, string> = {
  ENOTDIR: A_FILE,
  EEXIST: A_FILE,
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: `The disk is read-only: mount it otherwise, ${ELSEWHERE}.`,
  ENOSPC: `The disk is full: make room, ${ELSEWHERE}.`,
  EDQUOT: `The quota is used up: make room, ${ELSEWHERE}.`,
};

export const checkStorage: Check = {
  name: 'storage',
  async run({ env }) {
    const config = readStorageConfig(env);
    return config.kind === 's3' ? checkBucket(config) : checkFolder(resolve(config.folder));
  },
};

async function checkFolder(folder: string): Promise<Finding> {
  try {
    return judgeSpace(folder, await tryFolder(folder));
  } catch (error) {
    const mend = BY_CODE[String(codeOf(error))];
    return wrong(`${folder}: ${wordsOf(error)}`, mend ?? `Mend that folder, ${ELSEWHERE}.`);
  }
}

/** Stores a file there as a worker does and takes it away again; answers how many bytes are free. */
async function tryFolder(folder: string): Promise<number> {
  const madeFrom = await mkdir(folder, { recursive: true });
  const name = `.doctor-${randomUUID()}`;
  try {
    await createFileStorage(folder).write(name, name, 'text/plain');
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } finally {
    await rm(join(folder, name), { force: true });
    if (madeFrom !== undefined) await unmake(folder, madeFrom);
  }
}

/** A look leaves nothing behind. A folder that somebody uses by now is not empty, and stays. */
async function unmake(folder: string, upTo: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
  if (folder !== upTo && folder !== dirname(folder)) await unmake(dirname(folder), upTo);
}

export function judgeSpace(folder: string, freeBytes: number): Finding {
  const found = `${folder} can be written, ${(freeBytes / GIB).toFixed(1)} GiB free`;
  return freeBytes >= ENOUGH_BYTES ? ok(found) : warning(found, `Make room, ${ELSEWHERE}.`);
}
