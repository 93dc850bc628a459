import { fileURLToPath } from 'node:url';
import type { DownloadOptions } from '../../activities';
import { isPlainKey, isStorageKey, KEY_PLACEHOLDERS } from '../contract/input-rules';
import type { S3Connection, StorageConfig } from '../storage';
import {
  type Environment,
  flag,
  httpUrl,
  parsed,
  quoted,
  readerOf,
  type SettingGroup,
  text,
  withoutBlanks,
} from './read-setting';

type Location = { kind: 'file'; folder: string } | { kind: 's3'; bucket: string; prefix: string };

/** The location, or what is wrong with it. */
function parseLocation(given: string): Location | string {
  if (given === '') return 'is empty';
  // One letter and a colon are a drive.
  const scheme = /^[a-z][a-z0-9+.-]+:(\/\/)?/i.exec(given)?.[0].toLowerCase();
  if (scheme === undefined) return { kind: 'file', folder: given };
  if (scheme === 's3://') return parseBucket(given);
  if (scheme !== 'file://') return `starts with ${scheme}, which is not supported`;
  try {
    return { kind: 'file', folder: fileURLToPath(given) };
  } catch {
    return 'is a file: URL that names no folder of this machine';
  }
}

function parseBucket(given: string): Location | string {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/i.exec(given) ?? [];
  // Looking behind, it tries each run of slashes once: many slashes would take minutes otherwise.
  const prefix = path.replace(/(?<!\/)\/+$/, '');
  const isValid =
    /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket) && (prefix === '' || isPlainKey(prefix));
  return isValid ? { kind: 's3', bucket, prefix } : 'does not name a bucket';
}

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:([kmg])(i?)b)?$/i;

const byteCount = text
  .regex(SIZE, quoted)
  .transform((size) => {
    const [, count, letter = '', binary] = SIZE.exec(size.toLowerCase()) ?? [];
    return Math.floor(Number(count) * (binary ? 1024 : 1000) ** ['', 'k', 'm', 'g'].indexOf(letter));
  })
  .refine((bytes) => bytes > 0, 'is less than a byte');

const S3_ENDPOINT_PROBLEM = 'is not an http(s) URL without a user';

/** Logs and the doctor show the address, so it may not have a password in it. */
const s3Endpoint = httpUrl(S3_ENDPOINT_PROBLEM).refine((address) => {
  const { username, password } = new URL(address);
  return !(username || password);
}, S3_ENDPOINT_PROBLEM);

const S3_ENDPOINT = {
  type: s3Endpoint.optional(),
  unset: "AWS's own",
  fix: 'set it to the address of the S3 server, such as https://s3.example.com, or unset it',
};

const PLACEHOLDERS = KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ');

export const STORAGE_SETTINGS = {
  VIDEOGEN_STORAGE: {
    type: parsed(parseLocation).default({ kind: 'file', folder: './videos' }),
    meaning:
      'Where videos go: a folder, its `file://` URL, or `s3://bucket/prefix`. [More](downloads-and-storage.md)',
    unset: '`./videos`',
    fix: 'give a folder, an absolute file:// URL such as file:///srv/videos, or s3://bucket/prefix, or unset it for ./videos',
    refusesBlank: true,
  },
  VIDEOGEN_KEY_TEMPLATE: {
    type: text.refine((key) => isStorageKey(key) && !key.endsWith('/'), quoted).optional(),
    meaning: 'The key of a video whose job names none. [More](downloads-and-storage.md#keys)',
    unset: '`{workflowId}.{ext}`',
    fix: `give a key inside the storage with any of ${PLACEHOLDERS} in it, such as {date}/{workflowId}.{ext}`,
  },
  VIDEOGEN_LARGEST_VIDEO: {
    type: byteCount.optional(),
    meaning: 'The largest video that is stored: `500MB`, `4GiB`.',
    unset: '`2GiB`',
    fix: 'give a size such as 500MB or 2GiB, or unset it for 2GiB',
  },
  VIDEOGEN_S3_PATH_STYLE: {
    type: flag.optional(),
    meaning: '`true` for S3 servers that want the bucket in the path.',
    unset: '`false`',
  },
  AWS_ENDPOINT_URL_S3: { ...S3_ENDPOINT, meaning: 'Address of the S3 server.' },
  AWS_ENDPOINT_URL: { ...S3_ENDPOINT, meaning: 'The same for all AWS services.' },
} satisfies SettingGroup;

const read = readerOf(STORAGE_SETTINGS);

/** Where videos go: a folder of this machine, or a bucket. */
export function readStorageConfig(env?: Environment): StorageConfig {
  const found = read('VIDEOGEN_STORAGE', env);
  if (found.kind === 'file') return found;
  return { ...found, ...readS3Connection(env) };
}

/** How to reach S3. The AWS SDK finds profiles, roles and web identities by itself. */
export function readS3Connection(env: Environment = process.env): S3Connection {
  const set = withoutBlanks(env);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = set;
  return {
    endpoint: read('AWS_ENDPOINT_URL_S3', env) ?? read('AWS_ENDPOINT_URL', env),
    region: set.AWS_REGION ?? set.AWS_DEFAULT_REGION,
    pathStyle: read('VIDEOGEN_S3_PATH_STYLE', env),
    ...(accessKeyId &&
      secretAccessKey && {
        credentials: { accessKeyId, secretAccessKey, sessionToken: set.AWS_SESSION_TOKEN },
      }),
  };
}

/** What a worker stores, under which keys, and how large it may be. */
export function readDownloadOptions(env?: Environment): DownloadOptions {
  return Object.freeze({
    keyTemplate: read('VIDEOGEN_KEY_TEMPLATE', env),
    largestVideoBytes: read('VIDEOGEN_LARGEST_VIDEO', env),
  });
}
