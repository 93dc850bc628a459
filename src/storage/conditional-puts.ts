import type { S3Bucket } from './s3-bucket';
import { StorageFault } from './storage';

/** Whether the servers of buckets honour If-None-Match, as found by this process. */
const verdicts = new Map<string, Promise<boolean>>();

/** Whether the server refuses to replace what is there. Proved once for each bucket and process, as long as it does. */
export async function honoursConditions(address: string, prove: () => Promise<boolean>): Promise<boolean> {
  if ((await verdictOn(address)) === true) return true;
  const verdict = prove();
  verdicts.set(address, verdict);
  return verdict;
}

/** What is known so far; undefined when nobody has asked, or the asking failed. */
export async function verdictOn(address: string): Promise<boolean | undefined> {
  return verdicts.get(address)?.catch(() => undefined);
}

/** Puts an object twice, and once more in parts as long videos come: only the first may find its key free. */
export async function proveConditions(bucket: S3Bucket, objectKey: string): Promise<boolean> {
  try {
    const isStored = await bucket.putIfFree(objectKey, 'first');
    // A put whose answer was lost is sent again by the SDK, and then finds itself.
    if (!isStored && (await bucket.get(objectKey)) === undefined) {
      throw new StorageFault('the server refuses a put with If-None-Match although nothing is there');
    }
    return (
      !(await bucket.putIfFree(objectKey, 'second')) && !(await bucket.putInPartsIfFree(objectKey, 'third'))
    );
  } finally {
    // Whoever may put need not be allowed to delete.
    await bucket.remove(objectKey).catch(() => undefined);
  }
}
