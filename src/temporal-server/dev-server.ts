import { freePort, isPortFree, LOOPBACK } from './loopback-port';
import { databaseArguments } from './orphan-servers';
import { ServerProcess } from './server-process';
import { whyNotReady } from './why-not-ready';

export interface DevServerOptions {
  /** The Temporal CLI: see findDevServer. */
  readonly executable: string;
  /** A free port when none is given. */
  readonly port?: number | undefined;
  /** A free port when none is given. */
  readonly uiPort?: number | undefined;
  /** Without the web UI. */
  readonly headless?: boolean | undefined;
  /** Where workflows outlive the server; in memory when none is given. */
  readonly dbFilename?: string | undefined;
  readonly namespace?: string | undefined;
  /** What the server prints is added to this file. */
  readonly logFile?: string | undefined;
  /** Settings of the server by their names, such as `matching.enableFairness`. */
  readonly dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Called as soon as the process runs, long before it can be used. */
  readonly onStarted?: (() => void) | undefined;
}

export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string;
  readonly pid: number;
  /** SIGTERM, then SIGKILL if that does not end it. */
  stop(): Promise<void>;
  /** SIGKILL, for tests of what a crash leaves. */
  kill(): Promise<void>;
}

/**
 * Starts a Temporal server that listens on the loopback interface alone, and waits until it can be used. It ends with
 * our process, and does not keep our process from ending.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const namespace = options.namespace ?? 'default';
  const port = await chosenPort(options.port);
  const uiPort = options.headless === true ? undefined : await chosenPort(options.uiPort);
  const args = startArguments({ ...options, port, uiPort, namespace });
  const server = await ServerProcess.start(options.executable, args, { logFile: options.logFile });
  options.onStarted?.();
  const address = `${LOOPBACK}:${port}`;
  // What asks the server takes as long to load as the server takes to start.
  const { untilReady }: typeof import('./until-ready') = require('./until-ready');
  const flaw = await whyNotReady(server, (signal) => untilReady(port, namespace, signal));
  if (flaw !== undefined) {
    await server.end('SIGKILL');
    throw new Error(`The Temporal dev server ${options.executable} on ${address} ${flaw}`);
  }
  server.letGo();
  return {
    address,
    namespace,
    pid: server.pid,
    ...(uiPort === undefined ? {} : { uiUrl: `http://${LOOPBACK}:${uiPort}` }),
    stop: () => server.end('SIGTERM'),
    kill: () => server.end('SIGKILL'),
  };
}

/** The port was the caller's choice, and so is the fix. */
export class PortInUse extends Error {
  override readonly name = 'PortInUse';
}

/** Asked before the start: if another Temporal server has the port, it would answer in the place of ours. */
async function chosenPort(port: number | undefined): Promise<number> {
  if (port === undefined) return await freePort();
  if (await isPortFree(port)) return port;
  throw new PortInUse(
    `The Temporal dev server cannot start on ${LOOPBACK}:${port} because that port is in use: ` +
      'stop what listens there, or choose another port.',
  );
}

/** It would otherwise tell its maker about itself. */
const QUIET = { 'frontend.enableServerVersionCheck': 'false' };

function startArguments({
  port,
  uiPort,
  namespace,
  dbFilename,
  dynamicConfig,
}: DevServerOptions & { port: number; namespace: string }): string[] {
  const config = Object.entries({ ...QUIET, ...dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', `${port}`],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', `${uiPort}`]),
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    ...(dbFilename === undefined ? [] : databaseArguments(dbFilename)),
    ...config.flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]),
  ];
}
