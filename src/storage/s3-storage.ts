import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { honoursConditions, proveConditions, verdictOn } from './conditional-puts';
import { IncomingUpload, type S3Place } from './incoming-upload';
import { newProbeKey, probing, writeAndRead } from './probe';
import { S3Bucket } from './s3-bucket';
import type { S3Connection } from './s3-connection';
import { StorageFault, type VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';
import { fixForBucket, IGNORES_IF_NONE_MATCH } from './storage-fixes';
import { storedReader } from './stored-reader';

export interface S3StorageOptions extends S3Connection {
  bucket: string;
  /** Below which all keys are, as a folder is. */
  prefix?: string | undefined;
  /**
   * False for a server that ignores If-None-Match: whether a key is free is then checked before the put, and of two
   * videos that come under one key at the same moment the later stays.
   */
  conditionalPuts?: boolean | undefined;
}

const SCHEME = 's3://';

/** Videos as objects of a bucket. The AWS SDK is loaded when the first one comes. */
export function createS3Storage({
  bucket: name,
  prefix = '',
  conditionalPuts: isConditional = true,
  ...connection
}: S3StorageOptions): VideoStorage {
  const folder = prefix.replace(/^\/+|\/+$/g, '');
  const bucketOnce = openOnce(name, connection);
  const placeOf = (key: string): S3Place => {
    const objectKey = folder === '' ? insideKey(key) : `${folder}/${insideKey(key)}`;
    return { key, objectKey, uri: `${SCHEME}${name}/${objectKey}` };
  };
  const address = JSON.stringify([connection.endpoint, connection.region, name]);
  const storage: VideoStorage = {
    async receive(key, { contentType, isRetry = false }) {
      const place = placeOf(key);
      const bucket = await asStorageFault(bucketOnce);
      if (isConditional && (await verdictOn(address)) === false) throw ignoresConditions();
      // Whoever may upload need not be allowed to list uploads: what is left then is left to the bucket's own rules.
      if (isRetry) await abortUploadsOf(bucket, place.objectKey).catch(() => undefined);
      return new IncomingUpload(bucket, place, { contentType, isConditional });
    },

    async write(key, content, contentType) {
      const { objectKey, uri } = placeOf(key);
      await asStorageFault(async () =>
        (await bucketOnce()).put({ Key: objectKey, Body: content, ContentType: contentType }),
      );
      return { uri };
    },

    read: async (key) => readObject(bucketOnce, placeOf(key).objectKey),

    probe(limitMs) {
      const at = connection.endpoint === undefined ? '' : ` at ${connection.endpoint}`;
      const place = `${SCHEME}${name}${folder === '' ? '' : `/${folder}`}${at}`;
      return probing({ place, limitMs, fixFor: ({ message }) => fixForBucket(message) }, async () => {
        const bucket = await bucketOnce();
        const key = newProbeKey();
        // Whoever may put need not be allowed to delete.
        await writeAndRead(storage, key).finally(() =>
          bucket.remove(placeOf(key).objectKey).catch(() => undefined),
        );
        if (!isConditional) return;
        const prove = () => proveConditions(bucket, placeOf(newProbeKey()).objectKey);
        if (!(await honoursConditions(address, prove))) throw ignoresConditions();
      });
    },

    // Without a prefix nothing says which uploads of the bucket are ours.
    sweep: (olderThanMs) =>
      folder === ''
        ? Promise.resolve(0)
        : asStorageFault(async () =>
            abortUploadsBefore(Date.now() - olderThanMs, await bucketOnce(), `${folder}/`),
          ),
  };
  return storage;
}

function ignoresConditions(): StorageFault {
  return new StorageFault(IGNORES_IF_NONE_MATCH);
}

/** What is stored at such a URI as an S3 storage answers; undefined when nothing is. */
export async function readS3Uri(uri: string, connection: S3Connection): Promise<Readable | undefined> {
  const [, name, key] = /^s3:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? [];
  if (name === undefined || key === undefined) {
    throw new StorageFault(`${JSON.stringify(uri)} does not name an object in S3`);
  }
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

async function readObject(open: OpenBucket, objectKey: string): Promise<Readable | undefined> {
  const stored = await asStorageFault(async () => (await open()).get(objectKey));
  return stored && storedReader(stored.content);
}

/** A key means the same here as in a folder, so that neither storage takes one that the other refuses. */
function insideKey(key: string): string {
  const inside = posix.normalize(key);
  if (/^(\.|\.\.|)$|^\.\.\/|^\/|\/$|\0/.test(inside)) {
    throw new StorageFault(`the key ${JSON.stringify(key)} does not name an object inside the storage`);
  }
  return inside;
}

async function abortUploadsOf(bucket: S3Bucket, objectKey: string): Promise<void> {
  for (const { Key, UploadId } of await bucket.unfinishedUploads(objectKey)) {
    if (Key === objectKey) await bucket.abortUpload(Key, UploadId);
  }
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
