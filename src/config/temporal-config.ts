import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import type { ServerOptions } from '../temporal-server';
import { ConfigError, type Environment, flagOf, withoutBlanks } from './service-config';

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
  const { connectionOptions, ...config } = loadTemporalConfig(set);
  return Object.freeze({ ...config, connectionOptions: checkConnection(connectionOptions) });
}

function loadTemporalConfig(set: Record<string, string>): ClientConnectConfig {
  try {
    return loadClientConnectConfig({ overrideEnvVars: set });
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

/** What gRPC would refuse with the value in its words, and an address that is told to everybody. */
function checkConnection(options: ClientConnectConfig['connectionOptions']): typeof options {
  const { address, apiKey, metadata } = options;
  if (address !== undefined && !/^[^@?#\s\p{Cc}]+$/u.test(address)) {
    throw new ConfigError(
      "TEMPORAL_ADDRESS, or address in Temporal's profile file, holds a user, a query, a space or a line break: give the host and the port alone, such as 127.0.0.1:7233.",
    );
  }
  return {
    ...options,
    ...(typeof apiKey === 'string' && {
      apiKey: headerValue("TEMPORAL_API_KEY, or api_key in Temporal's profile file,", apiKey),
    }),
    ...(metadata && { metadata: checkMetadata(metadata) }),
  };
}

function checkMetadata<Value>(metadata: Record<string, Value>): Record<string, Value | string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => {
      const variable = `TEMPORAL_GRPC_META_${name.toUpperCase().replaceAll('-', '_')}`;
      const place = `${variable}, or ${name} in Temporal's profile file,`;
      return [name, typeof value === 'string' ? headerValue(place, value) : value];
    }),
  );
}

/** Never told itself: it is a key, or may be. */
function headerValue(place: string, value: string): string {
  const trimmed = value.trim();
  if (/^[\x20-\x7e]*$/.test(trimmed)) return trimmed;
  throw new ConfigError(
    `${place} holds a line break, a control character or one outside ASCII: put the value there as it was given, on one line.`,
  );
}

/** Where to look for Temporal's own programs, and where to keep those that had to be fetched or built. */
export function readServerOptions(env: Environment = process.env): ServerOptions {
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
