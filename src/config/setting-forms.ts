import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { durationMs } from '../contract/duration';
import { isPlainKey } from '../contract/input-rules';

/** For values that may be shown. */
const quoted = { error: ({ input }: { input?: unknown }) => `is ${JSON.stringify(input)}` };

export const text = z.string().trim();

/** A text for which the function is true. */
export const textThat = (isValid: (given: string) => boolean) => text.refine(isValid, quoted);

export const oneOf = <const Words extends readonly string[]>(words: Words) => z.enum(words, quoted);

/** A text with a meaning of its own: the function returns that, or what is wrong as a phrase that follows the name. */
export function parsed<T extends object>(read: (given: string) => T | string) {
  return text.transform((given, { addIssue }): T => {
    const found = read(given);
    if (typeof found !== 'string') return found;
    addIssue(found);
    return z.NEVER;
  });
}

export const flag = text.pipe(
  z.stringbool({
    truthy: ['true', '1'],
    falsy: ['false', '0'],
    error: ({ input }) => `is ${JSON.stringify(input)}, neither true nor false`,
  }),
);

/** Temporal's SDK reads it, and silently takes any other word for false. */
export const sdkFlag = z.enum(['true', 'false', '1', '0'], 'is neither true nor false');

export const positiveNumber = textThat(
  (given) => Number(given) > 0 && Number(given) < Number.POSITIVE_INFINITY,
).transform(Number);

export const durationUpTo = (longestMs: number) =>
  textThat((given) => (durationMs(given) ?? Number.POSITIVE_INFINITY) <= longestMs).transform(
    (given) => durationMs(given) ?? 0,
  );

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:([kmg])(i?)b)?$/i;

export const byteCount = text
  .regex(SIZE, quoted)
  .transform((size) => {
    const [, count, letter = '', binary] = SIZE.exec(size.toLowerCase()) ?? [];
    return Math.floor(Number(count) * (binary ? 1024 : 1000) ** ['', 'k', 'm', 'g'].indexOf(letter));
  })
  .refine((bytes) => bytes > 0, 'is less than a byte');

export const httpUrl = (problem = 'is not an http(s) URL') =>
  text.pipe(z.url({ protocol: /^https?$/, error: problem, abort: true }));

/** The address of a video service. */
export const serviceUrl = httpUrl()
  .transform((address) => new URL(address))
  .refine(
    ({ username, password, search, hash }) => !(username || password || search || hash),
    'has a user, a query or a fragment',
  )
  .transform(({ href }) => href);

const S3_ENDPOINT_PROBLEM = 'is not an http(s) URL without a user';

/** Logs and the doctor show the address, so it may not have a password in it. */
export const s3Endpoint = httpUrl(S3_ENDPOINT_PROBLEM).refine((address) => {
  const { username, password } = new URL(address);
  return !(username || password);
}, S3_ENDPOINT_PROBLEM);

/** Values separated by commas. */
export const listOf = (isValid: (value: string) => boolean, problem: (wrong: string) => string) =>
  parsed<string[]>((given) => {
    const list = given
      .split(',')
      .map((value) => value.trim())
      .filter(Boolean);
    const wrong = list.find((value) => !isValid(value));
    return wrong === undefined ? list : problem(wrong);
  });

/** Names or addresses of hosts, separated by commas. */
export const hosts = text.toLowerCase().pipe(
  listOf(
    (host) => /^[a-z0-9._-]+$|^\[?[0-9a-f:.]+\]?$/.test(host),
    (wrong) => `has ${JSON.stringify(wrong)} in it`,
  ),
);

/** An origin is a URL without a path; `*` and patterns would let every site in. */
export const origins = listOf(
  (origin) => !origin.includes('*') && URL.canParse(origin) && new URL(origin).origin === origin,
  (wrong) => `has ${JSON.stringify(wrong)}, which is not an origin`,
);

/** Without the value: it may be a key in the place of its name. */
export const keyNames = listOf(
  (name) => /^[a-z0-9_]{1,63}$/.test(name),
  () => 'has something in it that is not the name of a key',
);

/** The key of a video service. Its value is never shown. */
export const apiKey = text.regex(
  /^[\x21-\x7e]*$/,
  'holds a space, a line break or a character outside ASCII',
);

/** Its value is never shown. As `whsec_…` it can also check signatures. */
export const hookSecret = text.regex(
  /^[\x21-\x7e]{20,200}$/,
  'is not 20 to 200 ASCII characters without spaces',
);

/** Where a monitor listens. */
export interface MonitorAddress {
  port: number;
  /** Default: 127.0.0.1. */
  host?: string;
}

export const DEFAULT_MONITOR_HOST = '127.0.0.1';

/** `9464`, `0.0.0.0:9464` or `[::]:9464`. */
export const monitorAddress = parsed<Required<MonitorAddress>>((given) => {
  const [, name = DEFAULT_MONITOR_HOST, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? [];
  const port = Number(digits);
  const host = name.replace(/^\[(.*)\]$/, '$1');
  const isValid = port > 0 && port < 65_536 && (host === 'localhost' || isIP(host) > 0);
  return isValid ? { port, host } : `is ${JSON.stringify(given)}`;
});

type StorageLocation = { kind: 'file'; folder: string } | { kind: 's3'; bucket: string; prefix: string };

/** A folder, its `file://` URL, or `s3://bucket/prefix`. */
export const storageLocation = parsed<StorageLocation>((given) => {
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
});

function parseBucket(given: string): StorageLocation | string {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/i.exec(given) ?? [];
  const prefix = withoutLastSlashes(path);
  const isValid =
    /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket) && (prefix === '' || isPlainKey(prefix));
  return isValid ? { kind: 's3', bucket, prefix } : 'does not name a bucket';
}

/** Looking behind, it tries each run of slashes once: many slashes would take minutes otherwise. */
export const withoutLastSlashes = (given: string) => given.replace(/(?<!\/)\/+$/, '');
