import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { IncomingUpload, type S3Place } from './incoming-upload';
import { S3Bucket } from './s3-bucket';
import type { S3Connection } from './s3-connection';
import { StorageFault, type VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';
import { storedReader } from './stored-reader';

export interface S3StorageOptions extends S3Connection {
  bucket: string;
  /** Below which all keys are, as a folder is. */
  prefix?: string | undefined;
}

const SCHEME = 's3://';

/** Videos as objects of a bucket. The AWS SDK is loaded when the first one comes. */
export function createS3Storage({
  bucket: name,
  prefix = '',
  ...connection
}: S3StorageOptions): VideoStorage {
  const folder = prefix.replace(/^\/+|\/+$/g, '');
  const bucketOnce = openOnce(name, connection);
  const placeOf = (key: string): S3Place => {
    const objectKey = folder === '' ? insideKey(key) : `${folder}/${insideKey(key)}`;
    return { key, objectKey, uri: `${SCHEME}${name}/${objectKey}` };
  };
  return {
    async receive(key, { contentType, isRetry = false }) {
      const place = placeOf(key);
      const bucket = await asStorageFault(bucketOnce);
      // Whoever may upload need not be allowed to list uploads: what is left then is left to the bucket's own rules.
      if (isRetry) await abortUploadsOf(bucket, place.objectKey).catch(() => undefined);
      return new IncomingUpload(bucket, place, contentType);
    },

    async write(key, content, contentType) {
      const { objectKey, uri } = placeOf(key);
      await asStorageFault(async () =>
        (await bucketOnce()).put({ Key: objectKey, Body: content, ContentType: contentType }),
      );
      return { uri };
    },

    read: async (key) => readObject(bucketOnce, placeOf(key).objectKey),

    // Without a prefix nothing says which uploads of the bucket are ours.
    sweep: (olderThanMs) =>
      folder === ''
        ? Promise.resolve(0)
        : asStorageFault(async () =>
            abortUploadsBefore(Date.now() - olderThanMs, await bucketOnce(), `${folder}/`),
          ),
  };
}

/** Stores something small as a worker does, reads it and takes it away again. */
export async function tryS3Storage({ bucket, prefix, ...connection }: S3StorageOptions): Promise<void> {
  const name = `.videogen-doctor-${randomUUID()}`;
  const storage = createS3Storage({ bucket, prefix, ...connection });
  const { uri } = await storage.write(name, name, 'text/plain');
  const stored = await storage.read(name);
  const isThere = stored !== undefined && (await text(stored)) === name;
  const opened = await asStorageFault(() => S3Bucket.open(bucket, connection));
  await asStorageFault(() => opened.remove(uri.slice(`${SCHEME}${bucket}/`.length)));
  // Many a web server says yes to everything.
  if (!isThere) throw new StorageFault('what was stored there is not there');
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
