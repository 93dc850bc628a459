import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { parse as parseYaml } from 'yaml';
import { errorCode } from './contract/error-code';
import { isLostSubmitPolicy, LOST_SUBMIT_RULE } from './contract/input-rules';
import type { LostSubmitPolicy } from './contract/lost-submit';
import { DEFAULT_TASK_QUEUE } from './contract/names';
import type { EngineOptions } from './engine';
import {
  BUILT_IN_PROFILES,
  builtInProfile,
  parseProfile,
  type ServiceProfile,
  type VideoServiceOptions,
} from './service';

export type Environment = Record<string, string | undefined>;

/** A setting is missing or wrong. The message is one line: the variable, the problem, the mend. */
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
    // JSON is YAML too.
    return parseYaml(text);
  } catch (error) {
    const problem = error instanceof Error ? error.message.split('\n')[0]?.replace(/:$/, '') : String(error);
    throw new ConfigError(`VIDEOGEN_PROFILE names a file that is no YAML (${problem}): correct it.`);
  }
}

export function readTaskQueue(env: Environment = process.env): string {
  const queue = (env.VIDEOGEN_TASK_QUEUE ?? DEFAULT_TASK_QUEUE).trim();
  if (queue !== '') return queue;
  throw new ConfigError(
    `VIDEOGEN_TASK_QUEUE is empty: name a task queue, or unset it for ${DEFAULT_TASK_QUEUE}.`,
  );
}

/** What a worker does about a lost submit of a job that does not say it itself. */
export function readLostSubmitPolicy(env: Environment = process.env): LostSubmitPolicy {
  const policy = withoutBlanks(env).VIDEOGEN_ON_LOST_SUBMIT?.trim() ?? 'hold';
  if (isLostSubmitPolicy(policy)) return policy;
  throw new ConfigError(
    `VIDEOGEN_ON_LOST_SUBMIT is ${JSON.stringify(policy)}: it ${LOST_SUBMIT_RULE}, or unset for hold.`,
  );
}

/** The bound on submits, for all workers of the submit queue together; undefined for none. */
export function readSubmitsPerSecond(env: Environment = process.env): number | undefined {
  const { VIDEOGEN_SUBMITS_PER_SECOND: given } = withoutBlanks(env);
  if (given === undefined) return undefined;
  const perSecond = Number(given);
  if (perSecond > 0 && perSecond < Number.POSITIVE_INFINITY) return perSecond;
  throw new ConfigError(
    `VIDEOGEN_SUBMITS_PER_SECOND is ${JSON.stringify(given)}: give a number above 0, such as 2 or 0.5, or unset it.`,
  );
}

/** The version of a worker deployment that a worker is; undefined for a worker without versions. */
export function readDeploymentVersion(
  env: Environment = process.env,
): { deploymentName: string; buildId: string } | undefined {
  const set = withoutBlanks(env);
  const deploymentName = set.VIDEOGEN_DEPLOYMENT_NAME?.trim();
  const buildId = set.VIDEOGEN_BUILD_ID?.trim();
  if (deploymentName === undefined && buildId === undefined) return undefined;
  if (deploymentName === undefined || buildId === undefined) {
    const [missing, there] =
      buildId === undefined
        ? ['VIDEOGEN_BUILD_ID', 'VIDEOGEN_DEPLOYMENT_NAME']
        : ['VIDEOGEN_DEPLOYMENT_NAME', 'VIDEOGEN_BUILD_ID'];
    throw new ConfigError(`${missing} is not set, and ${there} is: set both, or neither.`);
  }
  if (!/[.:]/.test(deploymentName)) return { deploymentName, buildId };
  throw new ConfigError(
    `VIDEOGEN_DEPLOYMENT_NAME is ${JSON.stringify(deploymentName)}, and Temporal takes none with a dot or a colon: choose another, such as videos.`,
  );
}

/** Whether a client's jobs can be found by search attributes, which the namespace must have registered. */
export function readSearchAttributes(env: Environment = process.env): boolean | undefined {
  return flagOf('VIDEOGEN_SEARCH_ATTRIBUTES', env);
}

/** How to reach Temporal: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS…, or a profile file. */
export function readTemporalConfig(env: Environment = process.env): ClientConnectConfig {
  const set = withoutBlanks(env);
  checkTemporalSettings(set);
  try {
    return Object.freeze(loadClientConnectConfig({ overrideEnvVars: set }));
  } catch (error) {
    // Further lines quote the profile file, and there may be a key in it.
    const problem = String(error)
      .split('\n')[0]
      ?.replace(/^Error: /, '');
    const variables = Object.keys(set).filter((name) => name.startsWith('TEMPORAL_'));
    throw new ConfigError(
      `${[...variables, "Temporal's profile file"].join(' or ')} is wrong (${problem}): correct or unset it.`,
    );
  }
}

/** What the SDK's reader takes for something else without a word: no file for the defaults, `yes` for no TLS. */
function checkTemporalSettings(env: Environment): void {
  if (env.TEMPORAL_CONFIG_FILE !== undefined && !existsSync(env.TEMPORAL_CONFIG_FILE)) {
    throw new ConfigError('TEMPORAL_CONFIG_FILE names a file that does not exist: correct or unset it.');
  }
  for (const variable of ['TEMPORAL_TLS', 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION']) {
    if (!['true', 'false', '1', '0', undefined].includes(env[variable])) {
      throw new ConfigError(`${variable} is neither true nor false: set it to one of them, or unset it.`);
    }
  }
}

/** Where to look for Temporal's own programs, and where to keep those that had to be fetched or built. */
export function readEngineOptions(env: Environment = process.env): EngineOptions {
  const set = withoutBlanks(env);
  return Object.freeze({
    cacheFolder:
      set.VIDEOGEN_CACHE ?? join(set.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'temporal-videogen'),
    temporalCli: set.VIDEOGEN_TEMPORAL_CLI,
    testServer: set.VIDEOGEN_TEST_SERVER,
    searchPath: set.PATH,
  });
}

/** Where a Temporal server of our own keeps its database between runs. */
export function readDataFolder(env: Environment = process.env): string {
  const { VIDEOGEN_DATA, XDG_DATA_HOME } = withoutBlanks(env);
  return VIDEOGEN_DATA ?? join(XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'temporal-videogen');
}

/** The address of a Temporal server that somebody else runs, if one is named. */
export function readTemporalAddress(env: Environment = process.env): string | undefined {
  return readTemporalConfig(env).connectionOptions.address;
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
