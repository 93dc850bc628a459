import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import type { ServerOptions } from '../temporal-server';
import {
  ConfigError,
  type Environment,
  flag,
  problemWith,
  readerOf,
  type SettingGroup,
  text,
  withoutBlanks,
} from './read-setting';

/** The SDK silently takes any other word for false. */
const sdkFlag = z.enum(['true', 'false', '1', '0'], 'is neither true nor false');

export const TEMPORAL_SETTINGS = {
  TEMPORAL_ADDRESS: {
    type: text.optional(),
    meaning: "Host and port of Temporal's server.",
    unset: '`127.0.0.1:7233`',
  },
  TEMPORAL_NAMESPACE: {
    type: text.optional(),
    meaning: 'The namespace of jobs and workers.',
    unset: '`default`',
  },
  TEMPORAL_API_KEY: {
    type: z.string().optional(),
    meaning: 'The key for Temporal, such as one of Temporal Cloud.',
    unset: 'none',
  },
  TEMPORAL_TLS: {
    type: sdkFlag.optional(),
    meaning: '`true` to connect with TLS; the certificates are in `TEMPORAL_TLS_…`.',
    unset: '`true` with an API key',
  },
  TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: {
    type: sdkFlag.optional(),
    meaning: "`true` to accept a certificate with another host's name.",
    unset: '`false`',
  },
  TEMPORAL_CONFIG_FILE: {
    // The SDK silently takes a missing file for an empty one.
    type: z.string().refine(existsSync, 'names a file that does not exist').optional(),
    meaning: "Temporal's profile file.",
    unset: "the one of Temporal's CLI",
  },
  TEMPORAL_PROFILE: {
    type: text.optional(),
    meaning: 'The profile in that file.',
    unset: '`default`',
  },
  VIDEOGEN_SEARCH_ATTRIBUTES: {
    type: flag.optional(),
    meaning:
      '`true` for a client whose jobs can be found by search attributes. [More](temporal-ui.md#search-attributes)',
    unset: '`false`; `true` on the server of `generate` and `dev`',
  },
  TEMPORAL_DEPLOYMENT_NAME: {
    type: text
      .refine((name) => !/[.:]/.test(name), {
        error: ({ input }) => `is ${JSON.stringify(input)}, and Temporal takes no dot or colon in it`,
      })
      .optional(),
    meaning: 'The worker deployment that a worker belongs to. [More](versions-and-rollout.md)',
    unset: 'no versions',
    fix: 'choose another name, such as videos',
  },
  TEMPORAL_WORKER_BUILD_ID: {
    type: text.optional(),
    meaning:
      'The version of that deployment. Jobs end on the version that they began on. [More](versions-and-rollout.md)',
    unset: 'no versions',
  },
} satisfies SettingGroup;

const read = readerOf(TEMPORAL_SETTINGS);

/** The worker deployment version that a worker has; undefined for a worker without versions. */
export function readDeploymentVersion(
  env?: Environment,
): { deploymentName: string; buildId: string } | undefined {
  const deploymentName = read('TEMPORAL_DEPLOYMENT_NAME', env);
  const buildId = read('TEMPORAL_WORKER_BUILD_ID', env);
  if (deploymentName !== undefined && buildId !== undefined) return { deploymentName, buildId };
  if (deploymentName === undefined && buildId === undefined) return undefined;
  const names = 'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID';
  throw problemWith(names, { fix: 'set both, or neither' }, 'are not both set');
}

/** Whether a client's jobs get search attributes, which the namespace must have registered. */
export function readSearchAttributes(env?: Environment): boolean | undefined {
  return read('VIDEOGEN_SEARCH_ATTRIBUTES', env);
}

const CHECKED_BEFORE_THE_SDK = [
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
] as const;

/** How to reach Temporal, as all its SDKs read it: from TEMPORAL_… and the profile file. */
export function readTemporalConfig(env: Environment = process.env): ClientConnectConfig {
  for (const name of CHECKED_BEFORE_THE_SDK) read(name, env);
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

export const LOCAL_SETTINGS = {
  VIDEOGEN_DATA: {
    type: z.string().optional(),
    meaning: 'Where `generate` and `dev` keep the database of their own Temporal server. [More](cli.md)',
    unset: '`~/.local/share/temporal-videogen`',
  },
  VIDEOGEN_CACHE: {
    type: z.string().optional(),
    meaning:
      "Where downloaded Temporal servers and the tests' tools are stored. [More](cli.md#where-the-temporal-server-comes-from)",
    unset: '`~/.cache/temporal-videogen`',
  },
  VIDEOGEN_TEMPORAL_CLI: {
    type: z.string().optional(),
    meaning: 'A `temporal` CLI to use as the dev server.',
    unset: 'found',
  },
  VIDEOGEN_TEST_SERVER: {
    type: z.string().optional(),
    meaning: 'A time-skipping test server to use.',
    unset: 'found',
  },
} satisfies SettingGroup;

const readLocal = readerOf(LOCAL_SETTINGS);

/** Where Temporal's servers are found, and where those are stored that had to be fetched or built. */
export function readServerOptions(env: Environment = process.env): ServerOptions {
  const { XDG_CACHE_HOME = join(homedir(), '.cache'), PATH } = withoutBlanks(env);
  return Object.freeze({
    cacheFolder: readLocal('VIDEOGEN_CACHE', env) ?? join(XDG_CACHE_HOME, 'temporal-videogen'),
    temporalCli: readLocal('VIDEOGEN_TEMPORAL_CLI', env),
    testServer: readLocal('VIDEOGEN_TEST_SERVER', env),
    searchPath: PATH,
  });
}

/** Where this machine's own Temporal server keeps its database between runs. */
export function readDataFolder(env: Environment = process.env): string {
  const { XDG_DATA_HOME = join(homedir(), '.local', 'share') } = withoutBlanks(env);
  return readLocal('VIDEOGEN_DATA', env) ?? join(XDG_DATA_HOME, 'temporal-videogen');
}
