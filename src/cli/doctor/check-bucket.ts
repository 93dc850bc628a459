import { setTimeout as sleep } from 'node:timers/promises';
import { type S3StorageOptions, tryS3Storage } from '../../storage';
import { type Finding, ok, wrong } from './check';
import { CALL_LIMIT_MS } from './limits';
import { wordsOf } from './told-error';

const CREDENTIALS =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to those of the account, or AWS_PROFILE to a profile.';
const ADDRESS =
  'Correct AWS_ENDPOINT_URL_S3 and AWS_REGION, or mend what is between this machine and the server.';
const BUCKET = 'Make the bucket, or correct its name in VIDEOGEN_STORAGE.';
const REGION = 'Set AWS_REGION to the region of the bucket.';
const SDK = 'Install it where videogen is installed, or set VIDEOGEN_STORAGE to a folder.';
const RIGHTS = 'Allow these credentials to put, get and delete objects of the bucket.';
const ALL_OF_IT =
  'Check the bucket, AWS_REGION, AWS_ENDPOINT_URL_S3, VIDEOGEN_S3_PATH_STYLE and the credentials, which must allow to put, get and delete objects.';

/** By what stands in the words: the name that S3 or its SDK gives an error, or the code of the system. */
const MENDS: Record<string, string> = {
  NoSuchBucket: BUCKET,
  InvalidBucketName: BUCKET,
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  'Region is missing': REGION,
  AccessDenied: RIGHTS,
  InvalidAccessKeyId: CREDENTIALS,
  SignatureDoesNotMatch: CREDENTIALS,
  ExpiredToken: CREDENTIALS,
  CredentialsProviderError: CREDENTIALS,
  ECONNREFUSED: ADDRESS,
  ECONNRESET: ADDRESS,
  ENOTFOUND: `${ADDRESS} A server that knows no host name for each bucket needs VIDEOGEN_S3_PATH_STYLE=true.`,
  EAI_AGAIN: ADDRESS,
  EPROTO: ADDRESS,
  TimeoutError: ADDRESS,
  'is not installed': SDK,
};

/** Stores an object there as a worker does and takes it away again. */
export async function checkBucket(options: S3StorageOptions): Promise<Finding> {
  const { bucket, prefix, endpoint } = options;
  const place = `s3://${bucket}${prefix ? `/${prefix}` : ''}${endpoint ? ` at ${endpoint}` : ''}`;
  const late = new AbortController();
  try {
    const trying = tryS3Storage(options).then(() => ok(`${place} can be written`));
    const silence = sleep(CALL_LIMIT_MS, wrong(`${place}: no answer`, ADDRESS), { signal: late.signal });
    // Whoever comes second may fail, with nobody there to hear it.
    for (const outcome of [trying, silence]) outcome.catch(() => undefined);
    return await Promise.race([trying, silence]);
  } catch (error) {
    const words = wordsOf(error);
    const [, mend = ALL_OF_IT] = Object.entries(MENDS).find(([name]) => words.includes(name)) ?? [];
    return wrong(`${place}: ${words}`, mend);
  } finally {
    late.abort();
  }
}
