import { fileURLToPath } from 'node:url';
import type { DownloadOptions } from '../../activities';
import { isPlainKey, isStorageKey, KEY_PLACEHOLDERS } from '../contract/input-rules';
import type { S3Connection, StorageConfig } from '../storage';
import { ConfigError, type Environment, flagOf, withoutBlanks } from './service-config';

const A_PLACE = 'give a folder, an absolute file:// URL such as file:///srv/videos, or s3://bucket/prefix';

/** Where videos go: a folder of the machine, or a bucket. */
export function readStorageConfig(env: Environment = process.env): StorageConfig {
  const place = (env.VIDEOGEN_STORAGE ?? './videos').trim();
  if (place === '') throw new ConfigError(`VIDEOGEN_STORAGE is empty: ${A_PLACE}, or unset it for ./videos.`);
  // One letter and a colon are a drive.
  const scheme = /^[a-z][a-z0-9+.-]+:(\/\/)?/i.exec(place)?.[0].toLowerCase();
  if (scheme === undefined) return { kind: 'file', folder: place };
  if (scheme === 's3://') return readBucket(place, env);
  if (scheme === 'file://') return { kind: 'file', folder: readFileUrl(place) };
  throw new ConfigError(`VIDEOGEN_STORAGE starts with ${scheme}, which is not supported: ${A_PLACE}.`);
}

function readFileUrl(place: string): string {
  try {
    return fileURLToPath(place);
  } catch {
    throw new ConfigError(
      `VIDEOGEN_STORAGE is a file: URL that names no folder of this machine: ${A_PLACE}.`,
    );
  }
}

function readBucket(place: string, env: Environment): StorageConfig {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]*)\/?(.*?)\/*$/i.exec(place) ?? [];
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket) || (prefix !== '' && !isPlainKey(prefix))) {
    throw new ConfigError('VIDEOGEN_STORAGE names no bucket: give s3://bucket or s3://bucket/prefix.');
  }
  const conditionalPuts = readConditionalPuts(env);
  return { kind: 's3', bucket, prefix, conditionalPuts, ...readS3Connection(env) };
}

/** Whether the S3 server is trusted to refuse a put where something is; yes unless set. */
export function readConditionalPuts(env: Environment = process.env): boolean | undefined {
  return flagOf('VIDEOGEN_S3_CONDITIONAL_PUTS', env);
}

/** The rest of what the AWS SDK knows (profiles, roles, web identities) it finds by itself. */
export function readS3Connection(env: Environment = process.env): S3Connection {
  const set = withoutBlanks(env);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = set;
  return {
    endpoint: readEndpoint('AWS_ENDPOINT_URL_S3', set) ?? readEndpoint('AWS_ENDPOINT_URL', set),
    region: set.AWS_REGION ?? set.AWS_DEFAULT_REGION,
    pathStyle: flagOf('VIDEOGEN_S3_PATH_STYLE', env),
    ...(accessKeyId &&
      secretAccessKey && {
        credentials: { accessKeyId, secretAccessKey, sessionToken: set.AWS_SESSION_TOKEN },
      }),
  };
}

/** The address is told in logs and by the doctor, so there may be no password in it. */
function readEndpoint(variable: string, env: Environment): string | undefined {
  const given = env[variable]?.trim();
  if (given === undefined) return undefined;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password) return given;
  throw new ConfigError(
    `${variable} is not an http(s) URL without a user: set it to the address of the S3 server, such as https://s3.example.com, or unset it.`,
  );
}

/** What a worker stores, under which names, and how much of it. */
export function readDownloadOptions(env: Environment = process.env): DownloadOptions {
  return Object.freeze({
    keyTemplate: readKeyTemplate(env),
    largestVideoBytes: readLargestVideo(env),
    sidecar: readSidecar(env),
  });
}

export function readKeyTemplate(env: Environment = process.env): string | undefined {
  const template = withoutBlanks(env).VIDEOGEN_KEY_TEMPLATE?.trim();
  if (template === undefined || (isStorageKey(template) && !template.endsWith('/'))) return template;
  const known = KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ');
  throw new ConfigError(
    `VIDEOGEN_KEY_TEMPLATE is ${JSON.stringify(template)}: give a key inside the storage with any of ${known} in it, such as {date}/{workflowId}.{ext}.`,
  );
}

const UNITS: Record<string, number> = {
  '': 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

export function readLargestVideo(env: Environment = process.env): number | undefined {
  const given = withoutBlanks(env).VIDEOGEN_LARGEST_VIDEO?.trim();
  if (given === undefined) return undefined;
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmg]i?b)?$/i.exec(given) ?? [];
  const bytes = Math.floor(Number(count) * (UNITS[unit.toLowerCase()] ?? 1));
  if (bytes > 0) return bytes;
  throw new ConfigError(
    `VIDEOGEN_LARGEST_VIDEO is ${JSON.stringify(given)}: give a size such as 500MB or 2GiB, or unset it for 2GiB.`,
  );
}

export function readSidecar(env: Environment = process.env): boolean | undefined {
  return flagOf('VIDEOGEN_SIDECAR', env);
}
