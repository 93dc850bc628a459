import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { DEFAULT_TASK_QUEUE } from './contract/names';
import type { EngineOptions } from './engine';
import type { VideoServiceOptions } from './service';

export type Environment = Record<string, string | undefined>;

/** A setting is missing or wrong. The message is one line: the variable, the problem, the mend. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Where the video service is and the key for it. A key in a file is read at every call, so it can be rotated. */
export function readServiceConfig(env: Environment = process.env): VideoServiceOptions {
  return Object.freeze({ baseUrl: readBaseUrl(env), apiKey: readApiKey(env) });
}

export function readTaskQueue(env: Environment = process.env): string {
  const queue = (env.VIDEOGEN_TASK_QUEUE ?? DEFAULT_TASK_QUEUE).trim();
  if (queue !== '') return queue;
  throw new ConfigError(
    `VIDEOGEN_TASK_QUEUE is empty: name a task queue, or unset it for ${DEFAULT_TASK_QUEUE}.`,
  );
}

/** The folder for videos; `file:` URLs are taken too. */
export function readStorageFolder(env: Environment = process.env): string {
  const place = env.VIDEOGEN_STORAGE ?? './videos';
  if (place.startsWith('file://')) return fileURLToPath(place);
  if (place.trim() !== '' && !/^[a-z][a-z0-9+.-]+:/i.test(place)) return place;
  throw new ConfigError(`VIDEOGEN_STORAGE is ${JSON.stringify(place)}: give a folder or a file:// URL.`);
}

/** How to reach Temporal: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS…, or a profile file. */
export function readTemporalConfig(env: Environment = process.env): ClientConnectConfig {
  try {
    return loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`The TEMPORAL_* settings cannot be read (${problem}): correct or unset them.`);
  }
}

/** Where to look for Temporal's own programs, and where to keep those that had to be fetched or built. */
export function readEngineOptions(env: Environment = process.env): EngineOptions {
  return {
    cacheFolder:
      env.VIDEOGEN_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'temporal-videogen'),
    temporalCli: env.VIDEOGEN_TEMPORAL_CLI,
    testServer: env.VIDEOGEN_TEST_SERVER,
    searchPath: env.PATH,
  };
}

function readBaseUrl(env: Environment): string {
  const given = env.VIDEO_API_BASE_URL?.trim();
  const example = 'set it to the address of the video service, such as https://api.example.com';
  if (!given) throw new ConfigError(`VIDEO_API_BASE_URL is not set: ${example}.`);
  const url = URL.parse(given);
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError(`VIDEO_API_BASE_URL is not an http(s) URL: ${example}.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigError(`VIDEO_API_BASE_URL has a user, a query or a fragment: ${example}.`);
  }
  return url.href;
}

function readApiKey(env: Environment): () => string {
  const { VIDEO_API_KEY: key, VIDEO_API_KEY_FILE: file } = env;
  if (key !== undefined && file !== undefined) {
    throw new ConfigError('VIDEO_API_KEY and VIDEO_API_KEY_FILE are both set: unset one of them.');
  }
  if (file !== undefined) {
    const fromFile = () => checkKey('VIDEO_API_KEY_FILE', readKeyFile(file));
    fromFile();
    return fromFile;
  }
  if (key === undefined) {
    throw new ConfigError(
      'VIDEO_API_KEY is not set: set it to the key of the video service, or VIDEO_API_KEY_FILE to a file with it.',
    );
  }
  const checked = checkKey('VIDEO_API_KEY', key);
  return () => checked;
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'error';
    throw new ConfigError(
      `VIDEO_API_KEY_FILE names ${file}, which cannot be read (${code}): correct the path or its permissions.`,
    );
  }
}

/** A key with a space or a line break in it would not survive as a header, and what is wrong with it is not printed. */
function checkKey(variable: string, key: string): string {
  const trimmed = key.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const problem = trimmed === '' ? 'is empty' : 'holds a space, a line break or a character outside ASCII';
  throw new ConfigError(`${variable} ${problem}: put the key there as the service gave it, on one line.`);
}

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
