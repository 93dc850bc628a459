import { freePort, isPortFree, LOOPBACK } from './loopback-port';
import { databaseArguments } from './orphan-servers';
import { ServerProcess } from './server-process';
import { ServerUnavailable } from './server-unavailable';
import { whyNotReady } from './why-not-ready';

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
  readonly namespace?: string | undefined;
  /** The server's output is appended to this file. */
  readonly logFile?: string | undefined;
  /** Dynamic config values by name, such as `matching.enableFairness`. */
  readonly dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Called as soon as the process runs, long before the server is ready. */
  readonly onStarted?: (() => void) | undefined;
}

export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string;
  readonly pid: number;
  /** Sends SIGTERM, then SIGKILL if the server does not end. */
  stop(): Promise<void>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts a Temporal server that listens only on the loopback interface, and waits until it is ready. The server ends with
 * our process and does not keep our process alive.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const namespace = options.namespace ?? 'default';
  const port = await chosenPort(options.port);
  const uiPort = options.headless === true ? undefined : await chosenPort(options.uiPort);
  const args = startArguments({ ...options, port, uiPort, namespace });
  const server = await ServerProcess.start(options.executable, args, { logFile: options.logFile });
  options.onStarted?.();
  const address = `${LOOPBACK}:${port}`;
  // The client takes as long to load as the server takes to start, so both happen at once.
  const { untilReady }: typeof import('./until-ready') = require('./until-ready');
  const problem = await whyNotReady(server, (signal) => untilReady(port, namespace, signal));
  if (problem !== undefined) {
    await server.end('SIGKILL');
    throw new ServerUnavailable(
      `The Temporal dev server ${options.executable} on ${address} ${problem}`,
      [],
      'If that file is damaged or not the Temporal CLI, delete it, or set VIDEOGEN_TEMPORAL_CLI to one that works.',
    );
  }
  server.unref();
  return {
    address,
    namespace,
    pid: server.pid,
    ...(uiPort === undefined ? {} : { uiUrl: `http://${LOOPBACK}:${uiPort}` }),
    stop: () => server.end('SIGTERM'),
    kill: () => server.end('SIGKILL'),
  };
}

/** The port that the caller asked for is in use. */
export class PortInUse extends Error {
  override readonly name = 'PortInUse';
}

/** Checked before the start: another Temporal server on this port would answer instead of ours. */
async function chosenPort(port: number | undefined): Promise<number> {
  if (port === undefined) return await freePort();
  if (await isPortFree(port)) return port;
  throw new PortInUse(
    `The Temporal dev server cannot start on ${LOOPBACK}:${port} because that port is in use: ` +
      'stop what listens there, or choose another port.',
  );
}

/** By default the server reports its version to Temporal. */
const NO_VERSION_CHECK = { 'frontend.enableServerVersionCheck': 'false' };

function startArguments({
  port,
  uiPort,
  uiCodecEndpoint,
  namespace,
  dbFilename,
  dynamicConfig,
}: DevServerOptions & { port: number; namespace: string }): string[] {
  const config = Object.entries({ ...NO_VERSION_CHECK, ...dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', `${port}`],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', `${uiPort}`]),
    ...(uiPort === undefined || uiCodecEndpoint === undefined
      ? []
      : ['--ui-codec-endpoint', uiCodecEndpoint]),
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    ...(dbFilename === undefined ? [] : databaseArguments(dbFilename)),
    ...config.flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]),
  ];
}
