import { connect as openSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import type { Closers } from '../closers';
import { codeOf, wordsOf } from './described-error';
import { CALL_LIMIT_MS } from './limits';

/** The SDK may reach through a proxy what a plain socket does not, and a proxy is near. */
const PROXY_MS = 1_000;

/** As the SDK has it. */
const DEFAULT_PORT = 7233;

/** PERMISSION_DENIED and UNAUTHENTICATED of gRPC. */
const REFUSALS: readonly unknown[] = [7, 16];

export type Reached =
  | { connection: Connection; version: string }
  /** `refused` by a server that wants another key. */
  | { problem: string; refused: boolean };

export async function reachServer(
  options: ConnectionOptions & { address: string },
  closers: Closers,
): Promise<Reached> {
  const probing = problemOfSocket(options.address);
  const connection = Connection.lazy({ ...options, connectTimeout: CALL_LIMIT_MS });
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

/** One call to Temporal, given up in time; the SDK would go on asking. */
export function withinCall<T>(connection: Connection, call: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + CALL_LIMIT_MS, call);
}

/** Never settles while the socket has no problem. */
async function failSoonAfter(probing: Promise<string | undefined>): Promise<never> {
  const problem = await probing;
  if (problem === undefined) return new Promise(() => undefined);
  await sleep(PROXY_MS);
  throw new Error(problem);
}

function problemOfCall(error: unknown): string {
  if (codeOf(error) === undefined) return 'something listens there, but it does not answer as Temporal';
  // The SDK wraps what the server said.
  return wordsOf(error instanceof Error ? (error.cause ?? error) : error);
}

/** The SDK says of every server that it does not reach that time ran out; a plain socket knows why. */
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
    socket.setTimeout(CALL_LIMIT_MS, () => end('nothing there answers'));
    socket.once('error', (error) => end(wordsOf(error)));
    socket.once('connect', () => end(undefined));
  });
}
