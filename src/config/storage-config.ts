import type { DownloadOptions } from '../../activities';
import type { S3Connection, StorageConfig } from '../storage';
import { type Environment, withoutBlanks } from './read-setting';
import { readSetting } from './settings';

/** Where videos go: a folder of this machine, or a bucket. */
export function readStorageConfig(env?: Environment): StorageConfig {
  const found = readSetting('VIDEOGEN_STORAGE', env);
  if (found.kind === 'file') return found;
  return { ...found, ...readS3Connection(env) };
}

/** How to reach S3. The AWS SDK finds profiles, roles and web identities by itself. */
export function readS3Connection(env: Environment = process.env): S3Connection {
  const set = withoutBlanks(env);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = set;
  return {
    endpoint: readSetting('AWS_ENDPOINT_URL_S3', env) ?? readSetting('AWS_ENDPOINT_URL', env),
    region: set.AWS_REGION ?? set.AWS_DEFAULT_REGION,
    pathStyle: readSetting('VIDEOGEN_S3_PATH_STYLE', env),
    ...(accessKeyId &&
      secretAccessKey && {
        credentials: { accessKeyId, secretAccessKey, sessionToken: set.AWS_SESSION_TOKEN },
      }),
  };
}

/** What a worker stores, under which keys, and how large it may be. */
export function readDownloadOptions(env?: Environment): DownloadOptions {
  return Object.freeze({
    keyTemplate: readSetting('VIDEOGEN_KEY_TEMPLATE', env),
    largestVideoBytes: readSetting('VIDEOGEN_LARGEST_VIDEO', env),
  });
}
