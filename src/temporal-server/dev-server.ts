import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from './child-process';
import { ServerUnavailable } from './find-server';
import { freePort, isPortFree, LOOPBACK, untilPortOpen } from './loopback-port';

export interface DevServerOptions {
  /** Path of the Temporal CLI, as findDevServer returns it. */
  readonly executable: string;
  /** Any free port by default. */
  readonly port?: number | undefined;
  /** Any free port by default. */
  readonly uiPort?: number | undefined;
  /** Where the web UI has payloads decrypted. */
  readonly uiCodecEndpoint?: string | undefined;
  /** Runs without the web UI. */
  readonly headless?: boolean | undefined;
  /** The file that workflows are stored in; in memory by default. */
  readonly dbFilename?: string | undefined;
  /** The server's output is appended to this file. */
  readonly logFile?: string | undefined;
  /** Dynamic config values by name, such as `matching.enableFairness`. */
  readonly dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Called as soon as the process runs, long before the server is ready. */
  readonly onStarted?: (() => void) | undefined;
}

/** The one that a dev server always has. */
const NAMESPACE = 'default';

export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  readonly pid: number;
  /** Sends SIGKILL. */
  stop(): Promise<void>;
}

/**
 * Starts a Temporal server that listens only on the loopback interface, and waits until it is ready. The server ends with
 * our process and does not keep our process alive.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const port = await chosenPort(options.port);
  const uiPort = options.headless === true ? undefined : await chosenPort(options.uiPort);
  const args = startArguments({ ...options, port, uiPort });
  const address = `${LOOPBACK}:${port}`;
  // The database contains requests, with prompts and links: only this user may read what the server writes.
  const umask = options.dbFilename === undefined ? undefined : process.umask(0o077);
  const starting = startServer(options.executable, args, {
    logFile: options.logFile,
    untilReady: (signal) => untilReady(port, signal),
  });
  if (umask !== undefined) process.umask(umask);
  options.onStarted?.();
  const server = await starting;
  if (typeof server === 'string') {
    throw new ServerUnavailable(
      `The Temporal dev server ${options.executable} on ${address} ${server}`,
      [],
      'If that file is damaged or not the Temporal CLI, delete it, or set VIDEOGEN_TEMPORAL_CLI to one that works.',
    );
  }
  const uiUrl = uiPort === undefined ? undefined : `http://${LOOPBACK}:${uiPort}`;
  return { ...server, address, namespace: NAMESPACE, uiUrl };
}

/** The port that the caller asked for is in use. */
export class PortInUse extends Error {
  override readonly name = 'PortInUse';

  constructor(port: number) {
    super(
      `The Temporal dev server cannot start on ${LOOPBACK}:${port} because that port is in use: stop what listens there, or choose another port.`,
    );
  }
}

/** Checked before the start: another Temporal server on this port would answer instead of ours. */
async function chosenPort(port: number | undefined): Promise<number> {
  if (port === undefined) return await freePort();
  if (await isPortFree(port)) return port;
  throw new PortInUse(port);
}

// A call to a local server that takes longer is repeated.
const CALL_TIMEOUT_MS = 5_000;
const CHECK_EVERY_MS = 250;

/** Waits until the server answers on `port` and its namespace is usable. */
async function untilReady(port: number, signal: AbortSignal): Promise<void> {
  // The client takes as long to load as the server takes to start, so both happen at once.
  const { Connection }: typeof import('@temporalio/client') = require('@temporalio/client');
  await untilPortOpen(port, signal);
  const connection = Connection.lazy({
    address: `${LOOPBACK}:${port}`,
    // A proxy from the environment must not be used for the local machine.
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  // Counting needs the namespace and its visibility store, which are ready last.
  const count = () => connection.workflowService.countWorkflowExecutions({ namespace: NAMESPACE });
  try {
    for (;;) {
      const isReady = await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, count).then(
        () => true,
        () => false,
      );
      if (isReady) return;
      await sleep(CHECK_EVERY_MS, undefined, { signal });
    }
  } finally {
    await connection.close();
  }
}

/** By default the server reports its version to Temporal. */
const NO_VERSION_CHECK = { 'frontend.enableServerVersionCheck': 'false' };

function startArguments(options: DevServerOptions & { port: number }): string[] {
  const { port, uiPort, uiCodecEndpoint, dbFilename, dynamicConfig } = options;
  const config = Object.entries({ ...NO_VERSION_CHECK, ...dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', `${port}`],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', `${uiPort}`]),
    ...(uiCodecEndpoint === undefined ? [] : ['--ui-codec-endpoint', uiCodecEndpoint]),
    ...(dbFilename === undefined ? [] : ['--db-filename', dbFilename]),
    ...config.flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]),
  ];
}
