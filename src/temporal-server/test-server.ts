import {
  type ClientOptions,
  type ConnectionLike,
  isGrpcDeadlineError,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findOnSearchPath, startServer } from './child-process';
import { freePort, LOOPBACK, untilPortOpen } from './loopback-port';

type ClientOfTests = Pick<ClientOptions, 'dataConverter'>;

export interface TestServer {
  readonly environment: TestWorkflowEnvironment;
  stop(): Promise<void>;
}

/**
 * Starts the time-skipping test server that `findTestServer` returned. The SDK gives a server five seconds to answer, which
 * is too short for a JVM on a busy machine. So we start the server ourselves, and let the SDK start a placeholder process
 * with the port of the running server.
 */
export async function startTestServer(
  executable: string,
  { client, searchPath }: { client: ClientOfTests; searchPath?: string | undefined },
): Promise<TestServer> {
  // The SDK passes the port as the only argument, so `sleep` sleeps that many seconds, which is hours.
  const placeholder = await findOnSearchPath('sleep', searchPath);
  if (placeholder === undefined) return createEnvironment(executable, client);
  const port = await freePort();
  const server = await startServer(executable, [`${port}`], {
    untilReady: (signal) => untilPortOpen(port, signal),
  });
  if (typeof server === 'string')
    throw new Error(`The time-skipping test server ${executable} on ${LOOPBACK}:${port} ${server}`);
  try {
    const { environment, stop } = await createEnvironment(placeholder, client, port);
    return { environment, stop: () => stop().finally(() => server.stop()) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function createEnvironment(path: string, client: ClientOfTests, port?: number): Promise<TestServer> {
  const interceptors: WorkflowClientInterceptor[] = [];
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    client: { ...client, interceptors: { workflow: interceptors } },
    server: { port, executable: { type: 'existing-path', path } },
  });
  interceptors.push(askAgain(environment.connection));
  return { environment, stop: () => environment.teardown() };
}

/** A worker answers a query within milliseconds, on a busy machine within a second or two. */
const ANSWERED_WITHIN_MS = 3_000;
/** Without a worker, nobody ever answers. */
const MOST_TRIES = 10;

/**
 * Asks a query again that gets no answer. The time-skipping server loses one now and then while workflow tasks follow each other
 * closely, and the SDK's client would wait for it for ever. A real server loses none.
 */
export function askAgain(connection: Pick<ConnectionLike, 'withDeadline'>): WorkflowClientInterceptor {
  return {
    async query(input, next) {
      for (let tries = 1; ; tries++) {
        try {
          return await connection.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => next(input));
        } catch (error) {
          if (tries === MOST_TRIES || !isGrpcDeadlineError(error)) throw error;
        }
      }
    },
  };
}
