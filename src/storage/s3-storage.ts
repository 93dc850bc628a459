import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { fixForBucket, IGNORES_IF_NONE_MATCH, newProbeKey, runProbe, writeAndRead } from './probe';
import { S3Bucket } from './s3-bucket';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { ByteRange, FileToPublish, ListedFile, S3Connection, VideoStorage } from './storage';
import { asStorageFault, readWithFaults, StorageFault, storageFault } from './storage-fault';

/** Options of createS3Storage. */
export interface S3StorageOptions extends S3Connection {
  bucket: string;
  /** The folder of all keys. */
  prefix?: string | undefined;
}

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
  ...connection
}: S3StorageOptions): VideoStorage {
  const start = prefix.replace(/^\/+|\/+$/g, '').replace(/.$/s, '$&/');
  const root = `s3://${name}/`;
  const objectKeyOf = (key: string) => `${start}${normalizeKey(key)}`;
  /** A uri comes from a history, which others may write: it names an object of this storage or none. */
  const objectKeyIn = (uri: string) =>
    uri.startsWith(`${root}${start}`) && uri.length > root.length ? uri.slice(root.length) : undefined;

  let opening: Promise<S3Bucket> | undefined;
  const call = <T>(work: (bucket: S3Bucket) => Promise<T>) =>
    asStorageFault(async () => {
      opening ??= S3Bucket.open(name, connection);
      return work(await opening);
    });
  const read = async (objectKey: string, range?: ByteRange): Promise<Readable | undefined> => {
    const stored = await call((bucket) => bucket.get(objectKey, range));
    return stored && readWithFaults(stored.content);
  };

  const address = JSON.stringify([connection.endpoint, connection.region, name]);
  const refuseIfIgnored = async () => {
    if ((await knownConditions(address)) === false) throw new StorageFault(IGNORES_IF_NONE_MATCH);
  };

  const storage: VideoStorage = {
    async publishFile(path, key, file) {
      const objectKey = objectKeyOf(key);
      await call(async (bucket) => {
        await refuseIfIgnored();
        const isOfThis = ({ Key }: { Key?: string }) => Key === objectKey;
        // Credentials that may upload may still not list uploads. The bucket's own rules then remove what is left.
        if (file.isRetry) await bucket.abortUploads(objectKey, isOfThis).catch(() => undefined);
        await uploadFile(bucket, path, { key, objectKey }, file);
      });
      return { uri: `${root}${objectKey}` };
    },

    async write(key, content, contentType) {
      const Key = objectKeyOf(key);
      await call((bucket) => bucket.put({ Key, Body: content, ContentType: contentType }));
      return { uri: `${root}${Key}` };
    },

    async create(key, content, { signal } = {}) {
      const objectKey = objectKeyOf(key);
      return call(async (bucket) => {
        await refuseIfIgnored();
        return bucket.putIfFree(objectKey, content, signal);
      });
    },

    read: async (key) => read(objectKeyOf(key)),

    open: async (uri, range) => {
      const objectKey = objectKeyIn(uri);
      return objectKey === undefined ? undefined : read(objectKey, range);
    },

    link: (key, validity) => call((bucket) => bucket.presign(objectKeyOf(key), validity)),

    probe(limitMs) {
      const at = connection.endpoint === undefined ? '' : ` at ${connection.endpoint}`;
      const location = `${root}${start}`.replace(/\/$/, at);
      return runProbe({ location, limitMs, fixFor: fixForBucket }, () =>
        call(async (bucket) => {
          const key = newProbeKey();
          // Credentials that may put may still not delete.
          const remove = () => bucket.remove(objectKeyOf(key)).catch(() => undefined);
          await writeAndRead(storage, key).finally(remove);
          if ((await knownConditions(address)) === true) return;
          conditionsByAddress.set(address, testConditions(bucket, objectKeyOf(newProbeKey())));
          if (!(await conditionsByAddress.get(address))) throw new StorageFault(IGNORES_IF_NONE_MATCH);
        }),
      );
    },

    async sweep(olderThanMs) {
      // Without a prefix, uploads in the bucket may belong to others.
      if (start === '') return 0;
      const before = Date.now() - olderThanMs;
      const isOld = ({ Initiated }: { Initiated?: Date }) => Number(Initiated ?? before) < before;
      return call((bucket) => bucket.abortUploads(start, isOld));
    },

    async *list(prefix): AsyncGenerator<ListedFile, void, undefined> {
      let after: string | undefined;
      do {
        const page = await call((bucket) => bucket.list(`${start}${prefix}`, after));
        for (const { key, storedAt } of page.files) yield { key: key.slice(start.length), storedAt };
        after = page.isTruncated ? page.files.at(-1)?.key : undefined;
      } while (after !== undefined);
    },

    removeKey: async (key) => {
      const objectKey = objectKeyOf(key);
      await call((bucket) => bucket.remove(objectKey));
    },

    keyOf: (uri) => {
      const key = objectKeyIn(uri)?.slice(start.length);
      // Another key would be removed for one with `..` in it.
      return key === undefined || posix.normalize(key) !== key || key.startsWith('../') ? undefined : key;
    },
  };
  return storage;
}

/** Accepts and refuses the same keys as the file storage does. */
function normalizeKey(key: string): string {
  const normalized = posix.normalize(key);
  if (/^(\.|\.\.|)$|^\.\.\/|^\/|\/$|\0/.test(normalized))
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name an object inside the storage`);
  return normalized;
}

/** Whether each server honours If-None-Match, as tested by this process. */
const conditionsByAddress = new Map<string, Promise<boolean>>();

/** Undefined when it was not tested yet, or the test failed. */
async function knownConditions(address: string): Promise<boolean | undefined> {
  return conditionsByAddress.get(address)?.catch(() => undefined);
}

/** Puts an object twice, and once more by a multipart upload as long videos use it: only the first may succeed. */
async function testConditions(bucket: S3Bucket, objectKey: string): Promise<boolean> {
  try {
    const isStored = await bucket.putIfFree(objectKey, 'first');
    // After a lost answer the SDK repeats the put, which then finds its own object.
    if (!isStored && (await bucket.get(objectKey)) === undefined)
      throw new StorageFault('the server refuses a put with If-None-Match although the key is free');
    return !(await bucket.putIfFree(objectKey, 'second')) && !(await bucket.uploadIfFree(objectKey, 'third'));
  } finally {
    // Credentials that may put may still not delete.
    await bucket.remove(objectKey).catch(() => undefined);
  }
}

/** The caller's name for an object, and the bucket's. */
interface ObjectName {
  key: string;
  objectKey: string;
}

/** Uploads a file. Nothing of it is visible before its upload is completed. */
async function uploadFile(
  bucket: S3Bucket,
  path: string,
  name: ObjectName,
  whole: FileToPublish,
): Promise<void> {
  const { bytes, contentType, signal } = whole;
  const { size } = await stat(path);
  if (size !== bytes) throw incomplete(size, bytes);
  const body = createReadStream(path);
  // The library's abort() does not wait for parts in flight, and S3 stores parts that arrive after the abort.
  const stop = () => body.destroy(new StorageFault('the upload was stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  const upload = bucket.upload(name.objectKey, contentType, body);
  try {
    await upload.done();
  } catch (error) {
    // The library leaves an upload that could not be completed. The sweeper removes what cannot be removed now.
    const { uploadId } = upload;
    if (uploadId !== undefined) await bucket.abortUpload(name.objectKey, uploadId).catch(() => undefined);
    if (error instanceof StorageFault) throw error;
    // After every failure, not only when S3 says that the key is taken: a server may close the connection before its
    // refusal is read, and the answer to a completed upload may be lost.
    const isThere = await isStored(bucket, name, whole).catch((problem: unknown) => {
      if (problem instanceof StorageFault) throw problem;
      return false;
    });
    if (!isThere) throw storageFault(error);
  } finally {
    signal?.removeEventListener('abort', stop);
    body.on('error', () => undefined).destroy();
  }
}

async function isStored(
  bucket: S3Bucket,
  { key, objectKey }: ObjectName,
  whole: FileToPublish,
): Promise<boolean> {
  const stored = await bucket.get(objectKey);
  if (stored === undefined) return false;
  if (!(await isSameVideo(stored, whole))) throw keyTaken(key);
  return true;
}
