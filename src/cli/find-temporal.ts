import { resolve } from 'node:path';
import { type Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time';
import { clientOf, unreachable } from '../client/connect';
import { registerSearchAttributes } from '../client/search-attributes';
import { inTime } from '../client/temporal-calls';
import { ConfigError, type Environment } from '../config/service-config';
import { readDataFolder, readTemporalConfig } from '../config/temporal-config';
import { codeOf, firstLineOf, GRPC_STATUS } from '../contract/error-code';
import type { Closers } from './closers';
import { readStackNote, type StackNote } from './stack-note';

interface Reached {
  client: Client;
  version: string;
}

/** A server that answers: the configured one, or the one of a `videogen dev` on this machine. */
export interface TemporalServer extends Reached {
  kind: 'named' | 'local';
  address: string;
}

export type Temporal =
  | TemporalServer
  /** `refused` means that the server does not accept the key. */
  | { kind: 'silent'; address: string; problem: string; refused: boolean }
  /** None is configured, and none runs on this machine. */
  | { kind: 'none' };

/** Finds the Temporal server that `generate` would use. Starts and downloads nothing. */
export async function findTemporal(env: Environment, closers: Closers): Promise<Temporal> {
  const { connectionOptions, namespace } = readTemporalConfig(env);
  const isNamed = connectionOptions.address !== undefined;
  const note = isNamed ? undefined : await readStackNote(resolve(readDataFolder(env)));
  const { address } = note ?? connectionOptions;
  if (address === undefined) return { kind: 'none' };
  const options = note ? { address } : { ...connectionOptions, address };
  const reached = await reachServer(options, note?.namespace ?? namespace, env, closers);
  if ('client' in reached) return { kind: isNamed ? 'named' : 'local', address, ...reached };
  return isNamed ? { kind: 'silent', address, ...reached } : { kind: 'none' };
}

/** The configured server, or the one that runs on this machine. Starts nothing. */
export async function findNamedServer(env: Environment, closers: Closers): Promise<TemporalServer> {
  const temporal = await findTemporal(env, closers);
  if (temporal.kind === 'none') {
    throw new ConfigError(
      'TEMPORAL_ADDRESS is not set and no local server is running: set TEMPORAL_ADDRESS.',
    );
  }
  if (temporal.kind !== 'silent') return temporal;
  throw unreachable(temporal, temporal.problem);
}

/** For one call to a server or service. Shorter than a check, because a failed call says more than a check that timed out. */
export const CALL_LIMIT_MS = 4_000;

/** One call to Temporal with a deadline; without it, the SDK keeps retrying. */
export const withinCall = <T>(client: Client, call: () => Promise<T>) => inTime(client, call, CALL_LIMIT_MS);

/** For commands that watch: the default waits two minutes for a server that was gone for long. */
const RECONNECT_WITHIN_MS = 3_000;

const REFUSALS: readonly unknown[] = [GRPC_STATUS.permissionDenied, GRPC_STATUS.unauthenticated];

async function reachServer(
  options: ConnectionOptions & { address: string },
  namespace: string | undefined,
  env: Environment,
  closers: Closers,
): Promise<Reached | { problem: string; refused: boolean }> {
  // The SDK's own interceptor repeats a call until its time is up, and then forgets why it failed.
  // Of a connection that it shares with an earlier one, it would not know why that failed.
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const probe = Connection.lazy({ ...options, interceptors: [], channelArgs });
  try {
    const ask = () => probe.workflowService.getSystemInfo({});
    const info = await probe.withDeadline(Date.now() + CALL_LIMIT_MS, ask);
    const connection = Connection.lazy({
      ...options,
      connectTimeout: CALL_LIMIT_MS,
      channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS },
    });
    closers.add(() => connection.close());
    return { client: clientOf(connection, namespace, env), version: info.serverVersion };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return { problem: problemOfCall(error), refused: REFUSALS.includes(codeOf(error)) };
  } finally {
    await probe.close();
  }
}

function problemOfCall(error: unknown): string {
  const message = firstLineOf(error);
  if (codeOf(error) === GRPC_STATUS.deadlineExceeded) return 'no answer';
  if (codeOf(error) === GRPC_STATUS.unimplemented || message.includes('Protocol error'))
    return 'something listens there, but it does not answer like a Temporal server';
  const [, lastError] = /Last error: (?:Error: )?(.+?)\. Resolution note/.exec(message) ?? [];
  return lastError ?? message;
}

/**
 * The connection is never closed: the SDK may be retrying a call on it, which would then throw an error that cannot be
 * caught, and the process is about to end anyway.
 */
export async function connectLocally(
  { address, namespace }: Pick<StackNote, 'address' | 'namespace'>,
  env: Environment,
  connectTimeout: '2s' | '20s' = '2s',
): Promise<Client> {
  return clientOf(await Connection.connect({ address, connectTimeout }), namespace, env);
}

/** A job's name prevents a second payment only while Temporal retains the job. The dev server's default is one day. */
const RETENTION_MS = 90 * 24 * 3_600_000;

/** Has this machine's own server retain ended jobs for long, and find them by their search attributes. */
export async function prepareNamespace({ connection, options: { namespace } }: Client): Promise<void> {
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  if ((optionalTsToMs(config?.workflowExecutionRetentionTtl) ?? 0) < RETENTION_MS) {
    const longer = { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) };
    await connection.workflowService.updateNamespace({ namespace, config: longer });
  }
  await registerSearchAttributes({ connection, namespace });
}
