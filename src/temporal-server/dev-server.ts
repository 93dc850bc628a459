import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ServerProcess, STOP_GRACE_MS } from './child-process';
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
  const problem = await server.whyNotReady((signal) => untilReady(port, namespace, signal));
  if (problem !== undefined) {
    throw new ServerUnavailable(
      `The Temporal dev server ${options.executable} on ${address} ${problem}`,
      [],
      'If that file is damaged or not the Temporal CLI, delete it, or set VIDEOGEN_TEMPORAL_CLI to one that works.',
    );
  }
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

// A call to a local server that takes longer is repeated.
const CALL_TIMEOUT_MS = 5_000;
const CHECK_EVERY_MS = 250;

/** Waits until the server answers on `port` and its namespace is usable. */
async function untilReady(port: number, namespace: string, signal: AbortSignal): Promise<void> {
  // The client takes as long to load as the server takes to start, so both happen at once.
  const { Connection }: typeof import('@temporalio/client') = require('@temporalio/client');
  await untilPortOpen(port, signal);
  const connection = Connection.lazy({
    address: `${LOOPBACK}:${port}`,
    // A proxy from the environment must not be used for the local machine.
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  // Counting needs the namespace and its visibility store, which are ready last.
  const count = () => connection.workflowService.countWorkflowExecutions({ namespace });
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

/** The arguments that give a server its database. */
const databaseArguments = (dbFilename: string): string[] => ['--db-filename', dbFilename];

/**
 * Ends every server that uses a database, which stays locked while one runs: a killed process may leave its server. The server's
 * command line names the database. On Windows nothing is ended, and the next server says that the database is locked.
 */
export async function endServersOn(dbFilename: string): Promise<void> {
  const startedMs = Date.now();
  for (let waitedMs = 0; waitedMs < 2 * STOP_GRACE_MS; waitedMs = Date.now() - startedMs) {
    const pids = await serversOn(dbFilename);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, waitedMs < STOP_GRACE_MS ? 'SIGTERM' : 'SIGKILL');
      } catch {
        // It has ended, or belongs to another user. Then the next server reports that its database is locked.
      }
    }
    await sleep(CHECK_EVERY_MS);
  }
}

async function serversOn(dbFilename: string): Promise<number[]> {
  const args = databaseArguments(dbFilename).join(' ');
  const lines = process.platform === 'linux' ? await linesOfProc() : await linesOfPs();
  return lines.filter((line) => `${line} `.includes(` ${args} `)).map((line) => Number.parseInt(line, 10));
}

/** `PID ARGUMENTS` of each process. Small images have no `ps`. A zombie process has no arguments. */
async function linesOfProc(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => {
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return `${pid} ${words.replaceAll('\0', ' ')}`;
    }),
  );
}

async function linesOfPs(): Promise<string[]> {
  const listed = await promisify(execFile)('ps', ['-A', '-o', 'pid=,args=']).catch(() => undefined);
  return (listed?.stdout ?? '').split('\n').map((line) => line.trim());
}
