import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import type { ServerOptions } from '../temporal-server';
import { ConfigError, type Environment, problemWith, withoutBlanks } from './read-setting';
import { readSetting } from './settings';

/** The worker deployment version that a worker has; undefined for a worker without versions. */
export function readDeploymentVersion(
  env?: Environment,
): { deploymentName: string; buildId: string } | undefined {
  const deploymentName = readSetting('TEMPORAL_DEPLOYMENT_NAME', env);
  const buildId = readSetting('TEMPORAL_WORKER_BUILD_ID', env);
  if (deploymentName !== undefined && buildId !== undefined) return { deploymentName, buildId };
  if (deploymentName === undefined && buildId === undefined) return undefined;
  const names = 'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID';
  throw problemWith(names, { fix: 'set both, or neither' }, 'are not both set');
}

/** How to reach Temporal, as all its SDKs read it: from TEMPORAL_… and the profile file. */
export function readTemporalConfig(env: Environment = process.env): ClientConnectConfig {
  readSetting('TEMPORAL_CONFIG_FILE', env);
  readSetting('TEMPORAL_TLS', env);
  const set = withoutBlanks(env);
  try {
    const { connectionOptions, ...config } = loadClientConnectConfig({ overrideEnvVars: set });
    return Object.freeze({ ...config, connectionOptions: checkConnection(connectionOptions) });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    // Further lines quote the profile file, which may have a key in it.
    const [problem = ''] = String(error).split('\n');
    const variables = Object.keys(set).filter((name) => name.startsWith('TEMPORAL_'));
    const names = [...variables, "Temporal's profile file"].join(' or ');
    throw problemWith(names, {}, `is wrong (${problem.replace(/^Error: /, '')})`);
  }
}

/** Logs show the address, so it may have no password in it. */
const HOST_AND_PORT = /^[^@?#\s\p{Cc}]*$/u;
const HEADER = /^[\x20-\x7e]*$/;

function checkConnection(options: ClientConnectConfig['connectionOptions']): typeof options {
  const { address, apiKey, metadata } = options;
  if (address !== undefined) checkValue('TEMPORAL_ADDRESS', address, HOST_AND_PORT);
  const headers = Object.entries(metadata ?? {}).map(([name, value]) => {
    const variable = `TEMPORAL_GRPC_META_${name.toUpperCase().replaceAll('-', '_')}`;
    return [name, typeof value === 'string' ? checkValue(variable, value, HEADER) : value];
  });
  return {
    ...options,
    ...(typeof apiKey === 'string' && { apiKey: checkValue('TEMPORAL_API_KEY', apiKey, HEADER) }),
    ...(metadata && { metadata: Object.fromEntries(headers) }),
  };
}

/** The value is not shown, because it may be a key. gRPC's own error would show it. */
function checkValue(variable: string, value: string, form: RegExp): string {
  const trimmed = value.trim();
  if (form.test(trimmed)) return trimmed;
  throw problemWith(
    `${variable}, or its place in Temporal's profile file,`,
    { fix: 'put the value there as it was given, on one line; of an address, the host and the port alone' },
    'has a character in it that cannot be there',
  );
}

/** The address of a Temporal server, if the environment names one. */
export function readTemporalAddress(env?: Environment): string | undefined {
  return readTemporalConfig(env).connectionOptions.address;
}

/** Where Temporal's servers are found, and where those are stored that had to be fetched or built. */
export function readServerOptions(env: Environment = process.env): ServerOptions {
  const { XDG_CACHE_HOME = join(homedir(), '.cache'), PATH } = withoutBlanks(env);
  return Object.freeze({
    cacheFolder: readSetting('VIDEOGEN_CACHE', env) ?? join(XDG_CACHE_HOME, 'temporal-videogen'),
    temporalCli: readSetting('VIDEOGEN_TEMPORAL_CLI', env),
    testServer: readSetting('VIDEOGEN_TEST_SERVER', env),
    searchPath: PATH,
  });
}

/** Where this machine's own Temporal server keeps its database between runs. */
export function readDataFolder(env: Environment = process.env): string {
  const { XDG_DATA_HOME = join(homedir(), '.local', 'share') } = withoutBlanks(env);
  return readSetting('VIDEOGEN_DATA', env) ?? join(XDG_DATA_HOME, 'temporal-videogen');
}
