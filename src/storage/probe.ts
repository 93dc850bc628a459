import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { cleanText } from '../contract/clean-text';
import { withinTime } from './small-files';
import type { VideoStorage } from './storage';
import { StorageFault, StorageUnusable, storageFault } from './storage-fault';

/** A healthy storage needs at most a second. */
const PROBE_LIMIT_MS = 30_000;

interface Probe {
  /** Where the storage is, for the message. */
  location: string;
  limitMs?: number | undefined;
  /** Comes first: an error of a folder itself is easier to read than one of a file in it. */
  open?: (() => Promise<void>) | undefined;
  fixFor(error: StorageFault): string;
}

/**
 * Tries a storage with a key that no other probe has. Any error, and no answer in time, becomes a StorageUnusable with the
 * location and the fix.
 */
export async function probeStorage(
  storage: VideoStorage,
  { location, limitMs = PROBE_LIMIT_MS, open = async () => undefined, fixFor }: Probe,
): Promise<void> {
  const key = `.videogen-probe-${randomUUID()}`;
  // An error of the storage says more than one of the removal, and credentials that may put may still not delete.
  const remove = () => storage.removeKey?.(key).catch(() => undefined);
  const probe = async () => {
    await open();
    await tryOut(storage, key).finally(remove);
  };
  try {
    await withinTime(probe, limitMs);
  } catch (error) {
    const fault = storageFault(error);
    throw new StorageUnusable(location, cleanText(fault.message), fixFor(fault), { code: fault.code });
  }
}

async function tryOut(storage: VideoStorage, key: string): Promise<void> {
  // Jobs read records that may not exist, and S3 answers that with AccessDenied unless the bucket may be listed.
  if ((await storage.read(key)) !== undefined)
    throw new StorageFault('it returned a file that was never stored');
  await storage.create(key, '{}');
  if (await storage.create(key, '{}')) throw new StorageFault(IGNORES_IF_NONE_MATCH);
  await storage.write(key, key, 'text/plain');
  const stored = await storage.read(key);
  // A web server that is not a storage may answer every request with success.
  if (stored === undefined || (await text(stored)) !== key)
    throw new StorageFault('it did not return the file that was just stored');
}

export const fixForFolder = () =>
  'Make it a folder that this user can write to, on a disk with free space and hard links, or set VIDEOGEN_STORAGE to another folder.';

export const IGNORES_IF_NONE_MATCH = 'the server ignores If-None-Match, so one video could replace another';

/** By a part of the message: the name of an S3 or SDK error, the system's error code, or a message of this package. */
const FIX_FOR_BUCKET: readonly [RegExp, string][] = [
  [/NoSuchBucket|InvalidBucketName/, 'Create the bucket, or correct its name in VIDEOGEN_STORAGE.'],
  [/PermanentRedirect|AuthorizationHeader|Region is missing/, 'Set AWS_REGION to the region of the bucket.'],
  [
    /AccessDenied/,
    'Allow these credentials to put and get objects and to list the bucket (s3:ListBucket): without that right S3 does not say that an object is missing.',
  ],
  [
    /InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|CredentialsProviderError/,
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to those of the account, or AWS_PROFILE to a profile.',
  ],
  [
    /ECONN|ENOTFOUND|EAI_AGAIN|EPROTO|Timeout|no answer/,
    'Correct AWS_ENDPOINT_URL_S3 and AWS_REGION, or fix the network between this machine and the server. A server without a host name for each bucket needs VIDEOGEN_S3_PATH_STYLE=true.',
  ],
  [/not installed/, 'Install it where videogen is installed, or set VIDEOGEN_STORAGE to a folder.'],
  // Servers that know the header but not how to honour it answer NotImplemented.
  [
    /NotImplemented|If-None-Match/,
    'Use a server that honours it, such as Amazon S3, Cloudflare R2 or MinIO, or set VIDEOGEN_STORAGE to a folder.',
  ],
];

export function fixForBucket({ message }: { message: string }): string {
  const [, fix] = FIX_FOR_BUCKET.find(([part]) => part.test(message)) ?? [];
  return (
    fix ?? 'Check the bucket, AWS_REGION, AWS_ENDPOINT_URL_S3, VIDEOGEN_S3_PATH_STYLE and the credentials.'
  );
}
