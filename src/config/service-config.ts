import { readFileSync } from 'node:fs';
import { errorCode } from '../contract/errors';
import { isLostSubmitPolicy, LOST_SUBMIT_RULE } from '../contract/input-rules';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import type { VideoServiceOptions } from '../service';
import { BUILT_IN_PROFILES, builtInProfile } from '../service/built-in-profiles';
import { parseProfile, type ServiceProfile } from '../service/profile';

export type Environment = Record<string, string | undefined>;

/** A setting is missing or wrong. The message is one line: the variable, the problem, the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Where the video service is and the key for it. A key in a file is read at every call, so it can be rotated. */
export function readServiceConfig(env: Environment = process.env): VideoServiceOptions {
  const profile = readProfile(env);
  const downloadAllow = readDownloadAllow(env);
  return Object.freeze({
    baseUrl: readBaseUrl(env),
    apiKey: readApiKey(env),
    ...(profile && { profile }),
    ...(downloadAllow.length > 0 && { downloadAllow }),
  });
}

/** How the service differs from the interface: a built-in profile by its name, or a JSON or YAML file. */
export function readProfile(env: Environment = process.env): ServiceProfile | undefined {
  const named = withoutBlanks(env).VIDEOGEN_PROFILE?.trim();
  if (named === undefined) return undefined;
  return builtInProfile(named) ?? readProfileFile(named);
}

function readProfileFile(file: string): ServiceProfile {
  const given = parseProfileText(readProfileText(file));
  const parsed = parseProfile(given);
  if (parsed.ok) return parsed.profile;
  throw new ConfigError(`VIDEOGEN_PROFILE names a profile with a mistake (${parsed.problem}): correct it.`);
}

function readProfileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const names = Object.keys(BUILT_IN_PROFILES).join(', ');
    throw new ConfigError(
      `VIDEOGEN_PROFILE is ${JSON.stringify(file)}, neither a built-in profile nor a file that can be read (${errorCode(error) ?? 'no code'}): name one of ${names}, or a JSON or YAML file.`,
    );
  }
}

function parseProfileText(text: string): unknown {
  try {
    // JSON is YAML too. Few have a profile in a file, and reading YAML takes a while to load.
    const { parse }: typeof import('yaml') = require('yaml');
    return parse(text);
  } catch (error) {
    const problem = error instanceof Error ? error.message.split('\n')[0]?.replace(/:$/, '') : String(error);
    throw new ConfigError(`VIDEOGEN_PROFILE names a file that is no YAML (${problem}): correct it.`);
  }
}

/** What a worker does about a lost submit of a job that does not say it itself. */
export function readLostSubmitPolicy(env: Environment = process.env): LostSubmitPolicy {
  const policy = withoutBlanks(env).VIDEOGEN_ON_LOST_SUBMIT?.trim() ?? 'hold';
  if (isLostSubmitPolicy(policy)) return policy;
  throw new ConfigError(
    `VIDEOGEN_ON_LOST_SUBMIT is ${JSON.stringify(policy)}: it ${LOST_SUBMIT_RULE}, or unset for hold.`,
  );
}

/** True when a video service is named: without one, people try things out on the emulator. */
export function namesAService(env: Environment = process.env): boolean {
  return withoutBlanks(env).VIDEO_API_BASE_URL !== undefined;
}

/** The key that the emulator asks for, when one is set; it has one of its own. */
export function readEmulatorKey(env: Environment = process.env): string | undefined {
  const { VIDEO_API_KEY, VIDEO_API_KEY_FILE } = withoutBlanks(env);
  return (VIDEO_API_KEY ?? VIDEO_API_KEY_FILE) ? readApiKey(env)() : undefined;
}

/** Hosts from which videos may come although their addresses are private, or their links without TLS. */
export function readDownloadAllow(env: Environment = process.env): string[] {
  const hosts = (withoutBlanks(env).VIDEOGEN_DOWNLOAD_ALLOW ?? '')
    .split(',')
    .map((host) => host.trim().toLowerCase())
    .filter((host) => host !== '');
  const wrong = hosts.find((host) => !/^[a-z0-9._-]+$|^\[?[0-9a-f:.]+\]?$/.test(host));
  if (wrong === undefined) return hosts;
  throw new ConfigError(
    `VIDEOGEN_DOWNLOAD_ALLOW has ${JSON.stringify(wrong)} in it: give the names or addresses of hosts with commas between, without scheme, port and path.`,
  );
}

function readBaseUrl(env: Environment): string {
  const given = env.VIDEO_API_BASE_URL?.trim();
  const example = 'set it to the address of the video service, such as https://api.example.com';
  if (!given) throw new ConfigError(`VIDEO_API_BASE_URL is not set: ${example}.`);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError(`VIDEO_API_BASE_URL is not an http(s) URL: ${example}.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigError(`VIDEO_API_BASE_URL has a user, a query or a fragment: ${example}.`);
  }
  return url.href;
}

function readApiKey(env: Environment): () => string {
  const { VIDEO_API_KEY: key, VIDEO_API_KEY_FILE: file } = withoutBlanks(env);
  if (key !== undefined && file !== undefined) {
    throw new ConfigError('VIDEO_API_KEY and VIDEO_API_KEY_FILE are both set: unset one of them.');
  }
  if (file !== undefined) {
    const fromFile = () => checkKey('VIDEO_API_KEY_FILE', readKeyFile(file));
    fromFile();
    return fromFile;
  }
  if (key === undefined) {
    const problem = env.VIDEO_API_KEY === undefined ? 'not set' : 'empty';
    throw new ConfigError(
      `VIDEO_API_KEY is ${problem}: set it to the key of the video service, or VIDEO_API_KEY_FILE to a file with it.`,
    );
  }
  const checked = checkKey('VIDEO_API_KEY', key);
  return () => checked;
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // The path is not told: it may be the key itself, put into the wrong variable.
    throw new ConfigError(
      `VIDEO_API_KEY_FILE names a file that cannot be read (${errorCode(error) ?? 'no code'}): correct the path or its permissions.`,
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

export function flagOf(variable: string, env: Environment): boolean | undefined {
  const given = withoutBlanks(env)[variable]?.trim().toLowerCase();
  if (given === undefined) return undefined;
  if (given === 'true' || given === '1') return true;
  if (given === 'false' || given === '0') return false;
  throw new ConfigError(
    `${variable} is ${JSON.stringify(given)}, neither true nor false: set it to one of them, or unset it.`,
  );
}

/** A blank variable is how a compose file or a CI system hands over what was not set. */
export function withoutBlanks(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      // Blank, such a header of the profile file is left out.
      return value !== undefined && (value.trim() !== '' || name.startsWith('TEMPORAL_GRPC_META_'));
    }),
  );
}
