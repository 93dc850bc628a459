import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findOnSearchPath } from './executable-file';
import { freePort, LOOPBACK } from './loopback-port';
import { ServerProcess } from './server-process';
import { untilAnswered } from './until-ready';
import { whyNotReady } from './why-not-ready';

export interface TestServer {
  readonly environment: TestWorkflowEnvironment;
  stop(): Promise<void>;
}

/**
 * Starts the time-skipping test server that `findTestServer` found. The SDK gives the program that it starts five
 * seconds to answer, which a JVM beside other work may not keep. So the server is started before, in its own time, and
 * the SDK is given a program that merely stays and a port that answers already.
 */
export async function startTestServer(executable: string, searchPath?: string): Promise<TestServer> {
  // The SDK calls its program with the port and nothing else: that many seconds are hours.
  const staying = await findOnSearchPath('sleep', searchPath);
  if (staying === undefined) return createEnvironment(executable);
  const port = await freePort();
  // A test run that is broken off with Ctrl-C ends its processes by that signal alone.
  const server = await ServerProcess.start(executable, [`${port}`], { hearsCtrlC: true });
  const flaw = await whyNotReady(server, (signal) => untilAnswered(port, signal));
  if (flaw !== undefined) {
    await server.end('SIGKILL');
    throw new Error(`The time-skipping test server ${executable} on ${LOOPBACK}:${port} ${flaw}`);
  }
  server.letGo();
  try {
    const { environment, stop } = await createEnvironment(staying, port);
    // It keeps nothing that outlives it.
    return { environment, stop: () => stop().finally(() => server.end('SIGKILL')) };
  } catch (error) {
    await server.end('SIGKILL');
    throw error;
  }
}

async function createEnvironment(path: string, port?: number): Promise<TestServer> {
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { port, executable: { type: 'existing-path', path } },
  });
  return { environment, stop: () => environment.teardown() };
}
