import type { S3Client } from '@aws-sdk/client-s3';
import { errorCode } from '../contract/error-code';
import { NO_SECRETS, redact, type Secrets } from '../contract/redact';
import type { S3Connection, S3Credentials } from './s3-connection';
import { StorageFault } from './storage-fault';

// The SDK waits forever by default. A healthy server accepts a connection within a second.
const CONNECT_TIMEOUT_MS = 10_000;
// Longer than any pause of a healthy server: S3 may take a minute or more to complete a large upload.
const SILENCE_TIMEOUT_MS = 5 * 60_000;

export function createS3Client(
  sdk: S3Sdk,
  { endpoint, region, pathStyle, credentials }: S3Connection,
): S3Client {
  const client = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { forcePathStyle: pathStyle }),
    ...(credentials !== undefined && { credentials }),
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
  });
  redactErrors(client);
  return client;
}

/** Loaded on first use, with only types imported above: file storage works without the AWS SDK. */
export type S3Sdk = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage');

const NOT_FOUND: unknown[] = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

/** The AWS SDK, which the user installs. */
export async function loadS3Sdk(): Promise<S3Sdk> {
  try {
    return { ...(await import('@aws-sdk/client-s3')), ...(await import('@aws-sdk/lib-storage')) };
  } catch (error) {
    if (!NOT_FOUND.includes(errorCode(error))) throw error;
    const fix = 'run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`';
    throw new StorageFault(`the AWS SDK, which stores videos in S3, is not installed: ${fix}`, {
      cause: error,
    });
  }
}

/** Removes the credentials from every error of a client: some servers quote what the request was signed with. */
function redactErrors(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (call) => {
      try {
        return await next(call);
      } catch (error) {
        const secrets = await client.config.credentials().then(secretsIn, () => NO_SECRETS);
        throw redactError(error, secrets);
      }
    },
    // Around the retries.
    { step: 'initialize', name: 'redactErrors', priority: 'high' },
  );
}

/** A shorter key is a word, such as `test`: it is only hidden as a whole. */
const MIN_KEY_LENGTH = 8;

function secretsIn({ accessKeyId, secretAccessKey, sessionToken = '' }: S3Credentials): Secrets {
  const given = [secretAccessKey, sessionToken];
  return {
    keys: given.filter((key) => key.length >= MIN_KEY_LENGTH),
    // A piece of an id gives no access.
    wholeValues: [accessKeyId, ...given],
  };
}

/** Changes the error in place, because callers check its class. */
function redactError(error: unknown, secrets: Secrets): unknown {
  if (typeof error !== 'object' || error === null) return error;
  for (const part of ['message', 'name']) {
    const text: unknown = Reflect.get(error, part);
    if (typeof text === 'string') Reflect.set(error, part, redact(text, secrets));
  }
  return error;
}
