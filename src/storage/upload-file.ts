import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { S3Bucket } from './s3-bucket';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { FileToPublish } from './storage';
import { StorageFault, storageFault } from './storage-fault';

export interface S3Target {
  /** The caller's name for the object. */
  key: string;
  /** The bucket's name for the object. */
  objectKey: string;
  uri: string;
}

/** Uploads a file. Nothing of it is visible before its upload is completed. */
export async function uploadFile(
  bucket: S3Bucket,
  path: string,
  target: S3Target,
  { isConditional, ...whole }: FileToPublish & { isConditional: boolean },
): Promise<{ uri: string }> {
  const { objectKey, uri } = target;
  const { bytes, contentType, signal } = whole;
  const { size } = await stat(path);
  if (size !== bytes) throw incomplete(size, bytes);
  // On a server without conditions, two attempts that check at the same moment can both find the key free.
  if (!isConditional && (await isStored(bucket, target, whole))) return { uri };
  const body = createReadStream(path);
  // The library's abort() does not wait for parts in flight, and S3 stores parts that arrive after the abort.
  const stop = () => body.destroy(new StorageFault('the upload was stopped'));
  signal?.addEventListener('abort', stop, { once: true });
  const upload = bucket.upload({ key: objectKey, contentType, body, mayReplace: !isConditional });
  try {
    await upload.done();
    return { uri };
  } catch (error) {
    await removeUpload(bucket, objectKey, upload.uploadId);
    if (error instanceof StorageFault) throw storageFault(error);
    // After every failure, not only when S3 says that the key is taken: a server may close the connection before its
    // refusal is read, and the answer to a completed upload may be lost.
    const isThere = await isStored(bucket, target, whole).catch((problem: unknown) => {
      if (problem instanceof StorageFault) throw problem;
      return false;
    });
    if (!isThere) throw storageFault(error);
    return { uri };
  } finally {
    signal?.removeEventListener('abort', stop);
    body.on('error', () => undefined).destroy();
  }
}

async function isStored(
  bucket: S3Bucket,
  { key, objectKey }: S3Target,
  whole: FileToPublish,
): Promise<boolean> {
  const stored = await bucket.get(objectKey);
  if (stored === undefined) return false;
  if (!(await isSameVideo(stored, whole))) throw keyTaken(key);
  return true;
}

/** The library leaves an upload that could not be completed, or whose abort failed once. */
async function removeUpload(bucket: S3Bucket, key: string, uploadId: string | undefined): Promise<void> {
  if (uploadId === undefined) return;
  // The sweeper removes what cannot be removed now.
  await bucket.abortUpload(key, uploadId).catch(() => undefined);
}
