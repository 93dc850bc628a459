import { mkdir, rmdir, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { readStorageConfig } from '../../config/storage-config';
import { ANOTHER_FOLDER, createStorage, type StorageConfig, StorageUnusable } from '../../storage';
import { type Check, type Finding, failed, ok, warning } from './check';
import { CALL_LIMIT_MS } from './limits';

const GIB = 1024 ** 3;
const ENOUGH_BYTES = GIB;

export const checkStorage: Check = {
  name: 'storage',
  async run({ env }) {
    const config = readStorageConfig(env);
    try {
      return config.kind === 's3' ? await checkBucket(config) : await checkFolder(config);
    } catch (error) {
      if (!(error instanceof StorageUnusable)) throw error;
      return failed(`${error.location}: ${error.problem}`, error.fix);
    }
  },
};

type Bucket = Extract<StorageConfig, { kind: 's3' }>;
type Folder = Extract<StorageConfig, { kind: 'file' }>;

async function checkBucket(config: Bucket): Promise<Finding> {
  const { bucket, prefix, endpoint } = config;
  await probe(config);
  const address = `s3://${bucket}${prefix ? `/${prefix}` : ''}${endpoint ? ` at ${endpoint}` : ''}`;
  return ok(`${address} can be written, and its server honours If-None-Match`);
}

/** Removes every folder that it creates. */
async function checkFolder(config: Folder): Promise<Finding> {
  const folder = resolve(config.folder);
  // If the folder cannot be created, the probe says why.
  const created = await mkdir(folder, { recursive: true }).catch(() => undefined);
  try {
    await probe(config);
    const { bavail, bsize } = await statfs(folder);
    return judgeSpace(folder, bavail * bsize);
  } finally {
    if (created !== undefined) await removeFolders(folder, created);
  }
}

async function probe(config: StorageConfig): Promise<void> {
  await createStorage(config).probe?.(CALL_LIMIT_MS);
}

/** A folder that is no longer empty is in use, and remains. */
async function removeFolders(folder: string, upTo: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
  if (folder !== upTo && folder !== dirname(folder)) await removeFolders(dirname(folder), upTo);
}

export function judgeSpace(folder: string, freeBytes: number): Finding {
  const found = `${folder} can be written, ${(freeBytes / GIB).toFixed(1)} GiB free`;
  return freeBytes >= ENOUGH_BYTES ? ok(found) : warning(found, `Free some space, ${ANOTHER_FOLDER}.`);
}
