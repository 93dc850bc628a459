import {
  Client,
  Connection,
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { readEncryptionKeys } from '../config/operation-config';
import { ConfigError, type Environment } from '../config/read-setting';
import { readTemporalConfig } from '../config/temporal-config';
import { redact } from '../contract/redact';
import { withEncryption } from '../encryption/data-converter';
import { TemporalUnreachable } from './refusals';

const DEFAULT_ADDRESS = '127.0.0.1:7233';

type ConnectionOptions = ClientConnectConfig['connectionOptions'];

/** Connects to Temporal with the settings of the environment. The caller closes the connection. */
export async function connectClient(env?: Environment): Promise<Client> {
  const { connectionOptions, namespace } = readTemporalConfig(env);
  // Wrong keys are said before a connection is open, which nobody would close.
  readEncryptionKeys(env);
  const connection = await orUnreachable(connectionOptions, Connection.connect(connectionOptions));
  return clientOf(connection, namespace, env);
}

/** A client that encrypts as the settings say. */
export function clientOf(connection: Connection, namespace?: string, env?: Environment): Client {
  const dataConverter = withEncryption(undefined, { ring: readEncryptionKeys(env) });
  return new Client({ connection, namespace, dataConverter });
}

/** The outcome of connecting; a failure says which server cannot be reached. */
export function orUnreachable<T>(options: ConnectionOptions, connecting: Promise<T>): Promise<T> {
  return connecting.catch((error: unknown) => {
    throw unreachable(options, error);
  });
}

const START_SERVER = 'start a server there, or set TEMPORAL_ADDRESS to a running server';
/** Node brings root certificates along, for clients. The core of a worker reads those of the system, and slim images have none. */
const INSTALL_CERTIFICATES =
  'this machine has no root certificates, so install them (in Debian the package ca-certificates), or set TEMPORAL_TLS_SERVER_CA_CERT_PATH to those of the server';

/** Without the error as its cause: gRPC quotes headers that it refuses, and one of them is the key. */
export function unreachable(
  { address = DEFAULT_ADDRESS, apiKey, metadata = {} }: ConnectionOptions,
  error: unknown,
): TemporalUnreachable {
  const keys = [apiKey, ...Object.values(metadata)].filter((value) => typeof value === 'string');
  const reason = redact(String(error).split('\n')[0] ?? '', { keys, wholeValues: [] });
  const fix = reason.includes('NativeCertsNotFound') ? INSTALL_CERTIFICATES : START_SERVER;
  return new TemporalUnreachable(`Temporal cannot be reached at ${address} (${reason}): ${fix}.`);
}

/** Temporal refused a call or did not answer it in time. What it was asked for may have happened. */
export function isTemporalError(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

/**
 * A data converter for a client or a worker of your own that encrypts as ours do, with the keys in `VIDEOGEN_ENCRYPTION_KEYS`.
 * Throws a ConfigError without keys.
 *
 * @example
 * ```ts
 * const client = new Client({ connection, dataConverter: encryptedDataConverter() });
 * const videos = await createVideoClient({ client });
 * ```
 */
export function encryptedDataConverter(
  options: {
    /** The settings with the keys. Default: `process.env`. */
    env?: Environment;
    /** Your own data converter. Its codecs encode before ours, and its failure converter stays. */
    dataConverter?: DataConverter;
  } = {},
): DataConverter {
  const ring = readEncryptionKeys(options.env);
  if (ring) return withEncryption(options.dataConverter, { ring });
  throw new ConfigError(
    'There are no keys to encrypt with: set VIDEOGEN_ENCRYPTION_KEYS to what videogen encryption-key NAME prints.',
  );
}
