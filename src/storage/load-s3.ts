import { errorCode } from '../contract/errors';
import { StorageFault } from './storage';

/** Only types are imported at the top of any file: who stores in files need not have the AWS SDK. */
export type S3Sdk = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage');

const NOT_FOUND: unknown[] = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

/** The AWS SDK, which is the user's to install. */
export async function loadS3(): Promise<S3Sdk> {
  try {
    return { ...(await import('@aws-sdk/client-s3')), ...(await import('@aws-sdk/lib-storage')) };
  } catch (error) {
    if (!NOT_FOUND.includes(errorCode(error))) throw error;
    const fix = 'run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`';
    throw new StorageFault(`the AWS SDK, which keeps videos in S3, is not installed: ${fix}`, {
      cause: error,
    });
  }
}
