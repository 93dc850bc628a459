import { connect as openSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionLike, type ConnectionOptions } from '@temporalio/client';
import type { Closers } from '../closers';
import { codeOf, messageOf } from './described-error';
import { CALL_LIMIT_MS } from './limits';

/** When a plain socket fails, the SDK may still connect through a proxy, which is quick. */
const PROXY_GRACE_MS = 1_000;

/** For commands that watch: the default waits two minutes for a server that was gone for long. */
const RECONNECT_WITHIN_MS = 3_000;

/** The SDK's default. */
const DEFAULT_PORT = 7233;

/** The gRPC statuses PERMISSION_DENIED and UNAUTHENTICATED. */
const REFUSALS: readonly unknown[] = [7, 16];

export type Reached =
  | { connection: Connection; version: string }
  /** `refused` means that the server does not accept the key. */
  | { problem: string; refused: boolean };

export async function reachServer(
  options: ConnectionOptions & { address: string },
  closers: Closers,
): Promise<Reached> {
  const probing = problemOfSocket(options.address);
  const connection = Connection.lazy({
    ...options,
    connectTimeout: CALL_LIMIT_MS,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS },
  });
  closers.add(() => connection.close());
  try {
    await Promise.race([connection.ensureConnected(), failSoonAfter(probing)]);
    const { serverVersion } = await withinCall(connection, () =>
      connection.workflowService.getSystemInfo({}),
    );
    return { connection, version: serverVersion };
  } catch (error) {
    return { problem: (await probing) ?? problemOfCall(error), refused: REFUSALS.includes(codeOf(error)) };
  }
}

/** One call to Temporal with a deadline; without it, the SDK keeps retrying. */
export function withinCall<T>(connection: ConnectionLike, call: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + CALL_LIMIT_MS, call);
}

/** Rejects if the socket fails; never settles otherwise. */
async function failSoonAfter(probing: Promise<string | undefined>): Promise<never> {
  const problem = await probing;
  if (problem === undefined) return new Promise(() => undefined);
  await sleep(PROXY_GRACE_MS);
  throw new Error(problem);
}

function problemOfCall(error: unknown): string {
  if (codeOf(error) === undefined)
    return 'something listens there, but it does not answer as a Temporal server';
  // The SDK wraps the server's error.
  return messageOf(error instanceof Error ? (error.cause ?? error) : error);
}

/** For an unreachable server, the SDK reports only a timeout; a plain socket knows the reason. */
function problemOfSocket(address: string): Promise<string | undefined> {
  const url = URL.canParse(`tcp://${address}`) ? new URL(`tcp://${address}`) : undefined;
  if (!url) return Promise.resolve(undefined);
  const [host, port] = [url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || DEFAULT_PORT)];
  return new Promise((resolve) => {
    const socket = openSocket({ host, port });
    const end = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(CALL_LIMIT_MS, () => end('no answer'));
    socket.once('error', (error) => end(messageOf(error)));
    socket.once('connect', () => end(undefined));
  });
}
