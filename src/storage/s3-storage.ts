import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { newProbeKey, runProbe, writeAndRead } from './probe';
import { S3Bucket } from './s3-bucket';
import type { S3Connection } from './s3-connection';
import type { ByteRange, ListedFile, VideoStorage } from './storage';
import { asStorageFault, readWithFaults, StorageFault } from './storage-fault';
import { fixForBucket, IGNORES_IF_NONE_MATCH } from './storage-fixes';
import { type S3Target, uploadFile } from './upload-file';

/** Options of createS3Storage. */
export interface S3StorageOptions extends S3Connection {
  bucket: string;
  /** The folder of all keys. */
  prefix?: string | undefined;
  /**
   * False for a server that ignores If-None-Match. Each put is then preceded by a check that its key is free, and of two
   * videos that arrive under one key at the same moment the later one stays.
   */
  conditionalPuts?: boolean | undefined;
}

const SCHEME = 's3://';

/**
 * Stores videos as objects of a bucket. The AWS SDK is loaded on first use.
 *
 * @example
 * ```ts
 * const storage = createS3Storage({ bucket: 'videos', prefix: 'foxes', region: 'eu-central-1' });
 * ```
 */
export function createS3Storage({
  bucket: name,
  prefix = '',
  conditionalPuts: isConditional = true,
  ...connection
}: S3StorageOptions): VideoStorage {
  const folder = prefix.replace(/^\/+|\/+$/g, '');
  const openBucket = openOnce(name, connection);
  const targetOf = (key: string): S3Target => {
    const objectKey = folder === '' ? normalizeKey(key) : `${folder}/${normalizeKey(key)}`;
    return { key, objectKey, uri: `${SCHEME}${name}/${objectKey}` };
  };
  const address = JSON.stringify([connection.endpoint, connection.region, name]);
  const refuseIfIgnored = async () => {
    if ((await knownConditions(address)) === false) throw ignoresConditions();
  };
  const storage: VideoStorage = {
    async publishFile(path, key, file) {
      const target = targetOf(key);
      return asStorageFault(async () => {
        const bucket = await openBucket();
        if (isConditional) await refuseIfIgnored();
        // Credentials that may upload may still not list uploads. The bucket's own rules then remove what is left.
        if (file.isRetry) await abortUploadsOf(bucket, target.objectKey).catch(() => undefined);
        return uploadFile(bucket, path, target, { ...file, isConditional });
      });
    },

    async write(key, content, contentType) {
      const { objectKey, uri } = targetOf(key);
      await asStorageFault(async () =>
        (await openBucket()).put({ Key: objectKey, Body: content, ContentType: contentType }),
      );
      return { uri };
    },

    async create(key, content, { signal } = {}) {
      const { objectKey } = targetOf(key);
      return asStorageFault(async () => {
        const bucket = await openBucket();
        if (!isConditional) return putIfSeenFree(bucket, objectKey, content, signal);
        await refuseIfIgnored();
        return bucket.putIfFree(objectKey, content, signal);
      });
    },

    read: async (key) => readObject(openBucket, targetOf(key).objectKey),

    open: async (uri, range) => {
      const objectKey = objectKeyOf(uri, name, folder);
      return objectKey === undefined ? undefined : readObject(openBucket, objectKey, range);
    },

    link: (key, validity) =>
      asStorageFault(async () => (await openBucket()).presign(targetOf(key).objectKey, validity)),

    linkTo: async (uri, validity) => {
      const objectKey = objectKeyOf(uri, name, folder);
      if (objectKey === undefined) return undefined;
      return asStorageFault(async () => (await openBucket()).presign(objectKey, validity));
    },

    probe(limitMs) {
      const at = connection.endpoint === undefined ? '' : ` at ${connection.endpoint}`;
      const location = `${SCHEME}${name}${folder === '' ? '' : `/${folder}`}${at}`;
      return runProbe({ location, limitMs, fixFor: ({ message }) => fixForBucket(message) }, async () => {
        const bucket = await openBucket();
        const key = newProbeKey();
        // Credentials that may put may still not delete.
        await writeAndRead(storage, key).finally(() =>
          bucket.remove(targetOf(key).objectKey).catch(() => undefined),
        );
        if (!isConditional) return;
        const test = () => testConditions(bucket, targetOf(newProbeKey()).objectKey);
        if (!(await honoursConditions(address, test))) throw ignoresConditions();
      });
    },

    // Without a prefix, uploads in the bucket may belong to others.
    sweep: (olderThanMs) =>
      folder === ''
        ? Promise.resolve(0)
        : asStorageFault(async () =>
            abortUploadsBefore(Date.now() - olderThanMs, await openBucket(), `${folder}/`),
          ),

    list: (prefix) => listObjects(openBucket, folder === '' ? '' : `${folder}/`, prefix),

    async removeKey(key) {
      const { objectKey } = targetOf(key);
      await asStorageFault(async () => (await openBucket()).remove(objectKey));
    },

    keyOf: (uri) => {
      const objectKey = objectKeyOf(uri, name, folder);
      const key = folder === '' ? objectKey : objectKey?.slice(folder.length + 1);
      // Another key would be removed for one with `..` in it.
      return key === undefined || posix.normalize(key) !== key || key.startsWith('../') ? undefined : key;
    },
  };
  return storage;
}

function ignoresConditions(): StorageFault {
  return new StorageFault(IGNORES_IF_NONE_MATCH);
}

/** Whether each server honours If-None-Match, as tested by this process. */
const conditionsByAddress = new Map<string, Promise<boolean>>();

/** Whether the server refuses to replace an object. A positive result is cached per bucket and process. */
async function honoursConditions(address: string, test: () => Promise<boolean>): Promise<boolean> {
  if ((await knownConditions(address)) === true) return true;
  const tested = test();
  conditionsByAddress.set(address, tested);
  return tested;
}

/** Undefined when it was not tested yet, or the test failed. */
async function knownConditions(address: string): Promise<boolean | undefined> {
  return conditionsByAddress.get(address)?.catch(() => undefined);
}

/** Puts an object twice, and once more by a multipart upload as long videos use it: only the first may succeed. */
async function testConditions(bucket: S3Bucket, objectKey: string): Promise<boolean> {
  try {
    const isStored = await bucket.putIfFree(objectKey, 'first');
    // After a lost answer the SDK repeats the put, which then finds its own object.
    if (!isStored && (await bucket.get(objectKey)) === undefined) {
      throw new StorageFault('the server refuses a put with If-None-Match although the key is free');
    }
    return !(await bucket.putIfFree(objectKey, 'second')) && !(await bucket.uploadIfFree(objectKey, 'third'));
  } finally {
    // Credentials that may put may still not delete.
    await bucket.remove(objectKey).catch(() => undefined);
  }
}

/** For servers without conditions: of two that come at the same moment the later one stays. */
async function putIfSeenFree(
  bucket: S3Bucket,
  objectKey: string,
  content: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const stored = await bucket.get(objectKey);
  stored?.content.destroy();
  if (stored !== undefined) return false;
  await bucket.put({ Key: objectKey, Body: content, ContentType: 'application/json' }, signal);
  return true;
}

/** Reads the object at a URI that an S3 storage has returned; undefined when there is none. */
export async function readS3Uri(uri: string, connection: S3Connection): Promise<Readable | undefined> {
  const named = /^s3:\/\/([^/]+)\/(.+)/s.exec(uri);
  if (named === null) throw new StorageFault(`${JSON.stringify(uri)} does not name an object in S3`);
  const [, name = '', key = ''] = named;
  return readObject(openOnce(name, connection), key);
}

type OpenBucket = () => Promise<S3Bucket>;

function openOnce(name: string, connection: S3Connection): OpenBucket {
  let opening: Promise<S3Bucket> | undefined;
  return () => {
    opening ??= S3Bucket.open(name, connection);
    return opening;
  };
}

/** A uri comes from a history, which others may write: it names an object of this storage or none. */
function objectKeyOf(uri: string, bucket: string, folder: string): string | undefined {
  const start = `${SCHEME}${bucket}/`;
  const objectKey = uri.startsWith(start) ? uri.slice(start.length) : '';
  const isInside = objectKey !== '' && (folder === '' || objectKey.startsWith(`${folder}/`));
  return isInside ? objectKey : undefined;
}

async function readObject(
  open: OpenBucket,
  objectKey: string,
  range?: ByteRange,
): Promise<Readable | undefined> {
  const stored = await asStorageFault(async () => (await open()).get(objectKey, range));
  return stored && readWithFaults(stored.content);
}

/** Accepts and refuses the same keys as the file storage does. */
function normalizeKey(key: string): string {
  const normalized = posix.normalize(key);
  if (/^(\.|\.\.|)$|^\.\.\/|^\/|\/$|\0/.test(normalized)) {
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name an object inside the storage`);
  }
  return normalized;
}

async function abortUploadsOf(bucket: S3Bucket, objectKey: string): Promise<void> {
  for (const { Key, UploadId } of await bucket.unfinishedUploads(objectKey))
    if (Key === objectKey) await bucket.abortUpload(Key, UploadId);
}

async function* listObjects(
  open: OpenBucket,
  start: string,
  prefix: string,
): AsyncGenerator<ListedFile, void, undefined> {
  let after: string | undefined;
  do {
    const page = await asStorageFault(async () => (await open()).list(`${start}${prefix}`, after));
    for (const { key, storedAt } of page.files) yield { key: key.slice(start.length), storedAt };
    after = page.isTruncated ? page.files.at(-1)?.key : undefined;
  } while (after !== undefined);
}

async function abortUploadsBefore(timeMs: number, bucket: S3Bucket, prefix: string): Promise<number> {
  let aborted = 0;
  for (const { Key, UploadId, Initiated } of await bucket.unfinishedUploads(prefix)) {
    if (Initiated === undefined || Initiated.getTime() >= timeMs) continue;
    await bucket.abortUpload(Key, UploadId);
    aborted += 1;
  }
  return aborted;
}
