import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { errorCode } from '../contract/error-code';
import { redact } from '../contract/redact';
import { fixForBucket, IGNORES_IF_NONE_MATCH, probeStorage } from './probe';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { ByteRange, FileToPublish, ListedFile, S3Connection, VideoStorage } from './storage';
import { readWithFaults, StorageFault, storageFault } from './storage-fault';

// The SDK waits forever by default. A healthy server accepts a connection within a second.
const CONNECT_TIMEOUT_MS = 10_000;
// Longer than any pause of a healthy server: S3 may take a minute or more to complete a large upload.
const SILENCE_TIMEOUT_MS = 5 * 60_000;

/** Twice as many as a gateway has downloads at a time: clients that do not read them must leave connections for everything else. */
const AGENT = { keepAlive: true, maxSockets: 512 };

/** With retries. A later put or removal could hit a newer object. */
const SMALL_CALL_MS = 60_000;

// Two parts at a time keep the connection busy; 10,000 parts of this size, the limit of S3, are 78 GiB.
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;

const PRECONDITION_FAILED = 412;

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
  bucket: Bucket,
  prefix = '',
  ...connection
}: S3StorageOptions): VideoStorage {
  const start = prefix.replace(/^\/+|\/+$/g, '').replace(/.$/s, '$&/');
  const root = `s3://${Bucket}/`;
  const objectOf = (key: string) => ({ Bucket, Key: `${start}${normalizeKey(key)}` });

  let opening: Promise<S3> | undefined;
  const open = () => {
    opening ??= openS3(connection);
    return opening;
  };
  const call = async <T>(work: (s3: S3) => Promise<T>): Promise<T> => {
    try {
      return await work(await open());
    } catch (error) {
      const wholeValues = await credentialsOf(open()).catch(() => []);
      throw storageFault(error, (text) => redact(text, { keys: [], wholeValues }));
    }
  };

  /** Found by a probe, after which a host's worker may still run. */
  let ignoresConditions = false;
  const refuseIfIgnored = () => {
    if (ignoresConditions) throw new StorageFault(IGNORES_IF_NONE_MATCH);
  };

  const storage: VideoStorage = {
    async publishFile(path, key, file) {
      const object = objectOf(key);
      await call(async (s3) => {
        refuseIfIgnored();
        await uploadFile(s3, path, { key, ...object }, file);
      });
      return { uri: `${root}${object.Key}` };
    },

    async write(key, content, contentType) {
      const object = objectOf(key);
      const put = { ...object, Body: content, ContentType: contentType };
      const abortSignal = AbortSignal.timeout(SMALL_CALL_MS);
      await call(({ sdk, client }) => client.send(new sdk.PutObjectCommand(put), { abortSignal }));
      return { uri: `${root}${object.Key}` };
    },

    async create(key, content) {
      const put = { ...objectOf(key), Body: content, ContentType: 'application/json', IfNoneMatch: '*' };
      const abortSignal = AbortSignal.timeout(SMALL_CALL_MS);
      return call(async ({ sdk, client }) => {
        refuseIfIgnored();
        try {
          await client.send(new sdk.PutObjectCommand(put), { abortSignal });
          return true;
        } catch (error) {
          const { $metadata } = error instanceof sdk.S3ServiceException ? error : {};
          if ($metadata?.httpStatusCode !== PRECONDITION_FAILED) throw error;
          return false;
        }
      });
    },

    async read(key, range) {
      const object = objectOf(key);
      const stored = await call((s3) => getObject(s3, object, range));
      return stored && readWithFaults(stored.content);
    },

    link: (key, { from, seconds }) =>
      call(({ sdk, client }) =>
        sdk.getSignedUrl(client, new sdk.GetObjectCommand(objectOf(key)), {
          signingDate: from,
          expiresIn: seconds,
        }),
      ),

    async probe(limitMs) {
      const at = connection.endpoint === undefined ? '' : ` at ${connection.endpoint}`;
      const location = `${root}${start}`.replace(/\/$/, at);
      const ignoredBefore = ignoresConditions;
      try {
        ignoresConditions = false;
        await probeStorage(storage, { location, limitMs, fixFor: fixForBucket });
      } catch (error) {
        // A probe that fails earlier, such as for its time, says nothing new about it.
        ignoresConditions = ignoredBefore || String(error).includes(IGNORES_IF_NONE_MATCH);
        throw error;
      }
    },

    async *list(prefix): AsyncGenerator<ListedFile, void, undefined> {
      const listed = { Bucket, Prefix: `${start}${prefix}` };
      const pages = await call(async ({ sdk, client }) => sdk.paginateListObjectsV2({ client }, listed));
      for (;;) {
        const { done, value: page } = await call(() => pages.next());
        if (done) return;
        for (const { Key, LastModified: storedAt = new Date(0) } of page?.Contents ?? [])
          if (Key) yield { key: Key.slice(start.length), storedAt };
      }
    },

    removeKey: async (key) => {
      const object = objectOf(key);
      await call(async ({ sdk, client }) => {
        const abortSignal = AbortSignal.timeout(SMALL_CALL_MS);
        await client.send(new sdk.DeleteObjectCommand(object), { abortSignal }).catch((error: unknown) => {
          // Amazon's server says nothing about an object that is gone. Others do, to the second of two that remove it.
          if (!(error instanceof sdk.S3ServiceException && error.name === 'NoSuchKey')) throw error;
        });
      });
    },

    /** A uri comes from a history, which others may write: it names an object of this storage or none. */
    keyOf(uri) {
      const key = uri.slice(root.length + start.length);
      const isHere = uri === `${root}${start}${key}` && key !== '';
      // Another key would be meant by one with `..` in it.
      return isHere && posix.normalize(key) === key && !key.startsWith('../') ? key : undefined;
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

/** The SDK is loaded on first use, with only types imported above: file storage works without it. */
type S3 = { sdk: Awaited<ReturnType<typeof loadSdk>>; client: S3Client };

async function openS3({ endpoint, region, pathStyle, credentials }: S3Connection): Promise<S3> {
  const sdk = await loadSdk();
  const client = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { forcePathStyle: pathStyle }),
    ...(credentials !== undefined && { credentials }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      httpAgent: AGENT,
      httpsAgent: AGENT,
    },
  });
  return { sdk, client };
}

const NOT_FOUND: unknown[] = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

/** The AWS SDK, which the user installs. */
async function loadSdk() {
  try {
    return {
      ...(await import('@aws-sdk/client-s3')),
      ...(await import('@aws-sdk/lib-storage')),
      ...(await import('@aws-sdk/s3-request-presigner')),
    };
  } catch (error) {
    if (!NOT_FOUND.includes(errorCode(error))) throw error;
    const packages = '@aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner';
    throw new StorageFault(
      `the AWS SDK, which stores videos in S3, is not installed: run \`npm install ${packages}\``,
    );
  }
}

/** Some servers quote what the request was signed with. */
async function credentialsOf(opening: Promise<S3>): Promise<string[]> {
  const { client } = await opening;
  const { accessKeyId, secretAccessKey, sessionToken = '' } = await client.config.credentials();
  return [accessKeyId, secretAccessKey, sessionToken];
}

interface ObjectName {
  Bucket: string;
  Key: string | undefined;
}

async function getObject({ sdk, client }: S3, object: ObjectName, range?: ByteRange) {
  try {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const found = await client.send(new sdk.GetObjectCommand({ ...object, Range }));
    if (!(found.Body instanceof Readable)) throw new Error('S3 did not answer with a stream');
    return { bytes: found.ContentLength, content: found.Body };
  } catch (error) {
    if (error instanceof sdk.NoSuchKey) return undefined;
    throw error;
  }
}

/** Uploads a file, if its key is free. Nothing of it is visible before its upload is completed. */
async function uploadFile(
  s3: S3,
  path: string,
  { key, ...object }: ObjectName & { key: string },
  whole: FileToPublish,
): Promise<void> {
  const { size } = await stat(path);
  if (size !== whole.bytes) throw incomplete(size, whole.bytes);
  // The library's abort() does not wait for parts in flight, and S3 stores parts that arrive after the abort.
  const body = createReadStream(path, { signal: whole.signal }).on('error', () => undefined);
  const upload = new s3.sdk.Upload({
    client: s3.client,
    params: { ...object, Body: body, ContentType: whole.contentType, IfNoneMatch: '*' },
    partSize: PART_BYTES,
    queueSize: PARTS_IN_FLIGHT,
  });
  try {
    await upload.done();
  } catch (error) {
    const { uploadId: UploadId } = upload;
    if (UploadId !== undefined) {
      // The library leaves an upload that could not be completed.
      const abort = new s3.sdk.AbortMultipartUploadCommand({ ...object, UploadId });
      await s3.client.send(abort).catch(() => undefined);
    }
    // After every failure, not only when S3 says that the key is taken: a server may close the connection before its
    // refusal is read, and the answer to a completed upload may be lost.
    const stored = await getObject(s3, object).catch(() => undefined);
    const isSame = stored && (await isSameVideo(stored, whole).catch(() => undefined));
    if (isSame === undefined) throw error;
    if (!isSame) throw keyTaken(key);
  } finally {
    body.destroy();
  }
}
