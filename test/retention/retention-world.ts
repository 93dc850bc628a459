import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExtraName, extraKey, type StoredExtras } from '../../src/contract/extras';
import { canRemove, keepUntil, type RemovingStorage, recordKey, writeRecord } from '../../src/retention';
import { createFileStorage, createS3Storage, type VideoStorage } from '../../src/storage';
import { store } from '../storage/storage-contract';
import { startS3Server } from '../support/s3-server';

export const NAMESPACE = 'default';
export const VIDEO = Buffer.from('a whole fox');
export const HOUR_MS = 3_600_000;

export interface StorageKind {
  create(): Promise<RemovingStorage>;
  close(): Promise<void>;
}

/** A storage of each kind, empty for each test. */
export const KINDS: Record<'a folder' | 'S3', () => Promise<StorageKind>> = {
  'a folder': async () => {
    const folder = await mkdtemp(join(tmpdir(), 'videogen-retention-'));
    let count = 0;
    return {
      create: async () => removing(createFileStorage(join(folder, String(count++)))),
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
  S3: async () => {
    const server = await startS3Server();
    let count = 0;
    return {
      create: async () =>
        removing(createS3Storage({ bucket: server.bucket, prefix: `test-${count++}`, ...server.connection })),
      close: () => server.stop(),
    };
  },
};

function removing(storage: VideoStorage): RemovingStorage {
  if (!canRemove(storage)) throw new Error('the storage cannot remove');
  return storage;
}

export async function allKeys(storage: RemovingStorage): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of storage.list('')) keys.push(key);
  return keys;
}

export const RECORD = '0123456789abcdef';

/** What a job leaves whose video expires then: as the download activity does it. */
export async function storeUntil(
  storage: RemovingStorage,
  { job, key = `${job}.mp4`, expiresAt, extras }: StoredUntil,
): Promise<void> {
  await keepUntil(storage, { namespace: NAMESPACE, job, key, record: RECORD, expiresAt, extras });
  await storeAs(storage, { job, key, expiresAt, extras });
}

interface StoredJob {
  job: string;
  key?: string;
  expiresAt?: string;
  /** The pictures beside the video. */
  extras?: ExtraName[];
}

type StoredUntil = StoredJob & { expiresAt: string };

async function storeExtras(
  storage: RemovingStorage,
  key: string,
  names: ExtraName[] = [],
): Promise<StoredExtras> {
  const extras: StoredExtras = {};
  for (const name of names) {
    const { uri } = await storage.write(extraKey(key, name), name, 'image/png');
    extras[name] = { uri, bytes: name.length, sha256: '', contentType: 'image/png', width: 1, height: 1 };
  }
  return extras;
}

/** What any job leaves. */
export async function storeAs(
  storage: RemovingStorage,
  { job, key = `${job}.mp4`, expiresAt, extras: names }: StoredJob,
): Promise<void> {
  const made = await storeExtras(storage, key, names);
  const extras = names && { extras: made };
  const { uri } = await store(storage, key, VIDEO, { owner: 'task-1' });
  const video = {
    uri,
    bytes: VIDEO.length,
    sha256: createHash('sha256').update(VIDEO).digest('hex'),
    contentType: 'video/mp4',
    ...(expiresAt !== undefined && { expiresAt }),
  };
  await storage.write(
    `${key}.json`,
    JSON.stringify({ workflowId: job, taskId: 'task-1', video, ...extras }),
    'application/json',
  );
  await writeRecord(storage, recordKey(job, RECORD), {
    namespace: NAMESPACE,
    job,
    request: { prompt: 'A red fox' },
    state: 'stored',
    taskId: 'task-1',
    key,
    video,
    warnings: [],
    ...extras,
  });
}

/** The same storage, which calls `before` with the number of each call, from 1. A call that it rejects does nothing. */
export function counting(
  storage: RemovingStorage,
  before: (call: number) => Promise<void>,
): RemovingStorage & { calls(): number } {
  let calls = 0;
  const counted = {
    ...storage,
    calls: () => calls,
    list: (prefix: string) =>
      (async function* () {
        await before(++calls);
        yield* storage.list(prefix);
      })(),
  };
  for (const name of ['read', 'write', 'removeKey', 'storedAt', 'removeParts', 'receive'] as const) {
    const method = storage[name];
    if (method === undefined) continue;
    Reflect.set(counted, name, async (...given: unknown[]) => {
      await before(++calls);
      return Reflect.apply(method, storage, given);
    });
  }
  return counted;
}

/** A process that is killed at a call: this call and all later ones do nothing. */
export function killedAt(storage: RemovingStorage, at: number): RemovingStorage & { calls(): number } {
  return counting(storage, async (call) => {
    if (call >= at) throw new Error('killed');
  });
}
