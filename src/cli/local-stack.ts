import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { readEncryptionKeys } from '../config/encryption-config';
import { readGatewayConfig } from '../config/gateway-config';
import { readLogConfig } from '../config/log-config';
import { localTaskQueue, readTaskQueue } from '../config/queues';
import { type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { keyReader, readServices, servicesInUse, usesEmulator } from '../config/services-config';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import { readDataFolder } from '../config/temporal-config';
import type { LogLevel } from '../contract/log-events';
import type { VideoServiceOptions } from '../service';
import { createStorage, storageAddress, type VideoStorage } from '../storage';
import { freePort, isAlive, isDead, ProcessLock, SILENT_AFTER_MS, startDevServer } from '../temporal-server';
import { Closers } from './closers';
import { closeDataFiles, makeDataFolder } from './data-folder';
import { endOrphans } from './end-orphans';
import { findExecutable } from './find-executable';
import { LeftWaiting } from './left-waiting';
import type { LogTerminal } from './open-log';
import type { ScriptedFault } from './read-faults';
import { readStackNote, removeStackNote, type StackNote, writeStackNote } from './stack-note';
import type { Terminal } from './terminal';

const CHECK_EVERY_MS = 200;
/** Most waits are shorter and need no message. */
const ANNOUNCE_WAIT_AFTER_MS = 3_000;

/** Modules that load Temporal's SDK. That takes as long as the server's start, so both happen at once. */
const load = {
  client: (): typeof import('./local-client') => require('./local-client'),
  workers: (): typeof import('./local-workers') => require('./local-workers'),
  searchAttributes: (): typeof import('../client/search-attributes') =>
    require('../client/search-attributes'),
  gateway: (): typeof import('../gateway') => require('../gateway'),
};

/** A local Temporal server, and a worker for the configured service and storage. */
export interface LocalStack {
  client: Client;
  address: string;
  taskQueue: string;
  uiUrl?: string;
  /** Address of the gateway and its page, if the stack has one. */
  pageUrl?: string;
  serviceUrl: string;
  /** The key of an emulator that this process runs. It is not a secret. */
  emulatorKey?: string;
  /** Whether the namespace has the search attributes of jobs. */
  searchable: boolean;
  /** Address of the configured storage. */
  storage: string;
  /** Set if another process runs the server: its pid, its worker's storage and its emulator. `ended` settles when it ends. */
  runBy?: Pick<StackNote, 'pid' | 'storage' | 'emulator'>;
  ended?: Promise<void>;
  /** Starts a worker for a job's other storage, if the environment can reach it. Returns whether it did. */
  startWorkerFor(storage: string, queue: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface LocalStackOptions {
  env: Environment;
  printLine: (line: string) => void;
  /** Replaces the last line, on a terminal. */
  redraw?: ((line: string) => void) | undefined;
  /** Its Ctrl-C ends the wait for another process, and it gets the log. */
  terminal: Pick<Terminal, 'onInterrupt'> & LogTerminal;
  port?: number;
  uiPort?: number;
  /** Serves the configured task queue as well, for jobs that other programs start, and runs the gateway. */
  forOtherPrograms?: boolean;
  /** A free one unless set. */
  gatewayPort?: number;
  /** Of the log, unless it is set; errors only by default. */
  logLevel?: LogLevel;
  /** Faults for the next calls of an emulator that this process starts. Its submits are then printed. */
  faults?: readonly ScriptedFault[];
}

/** Joins the stack that already runs on this machine, or starts one. Jobs are stored in a file and outlive both. */
export async function openLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const folder = resolve(readDataFolder(options.env));
  // An invalid setting fails before anything is started.
  if (namesAService(options.env)) readServiceConfig(options.env);
  checkServices(options.env);
  readDownloadOptions(options.env);
  readEncryptionKeys(options.env);
  // No video is paid for that could not be stored.
  const storage = await openStorage(options.env);
  await makeDataFolder(folder);
  const access = await joinOrLock(folder, () => joinStack(folder, storage, options), options);
  return 'joined' in access ? access.joined : startStack({ folder, lock: access.lock, storage }, options);
}

/** Joins what already runs, or takes the lock of the data folder, whichever is possible first. */
export async function joinOrLock<Joined>(
  folder: string,
  join: () => Promise<Joined | undefined>,
  { terminal, printLine }: Pick<LocalStackOptions, 'terminal' | 'printLine'>,
): Promise<{ joined: Joined } | { lock: ProcessLock }> {
  const lock = new ProcessLock(lockFile(folder));
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort());
  const announceAtMs = Date.now() + ANNOUNCE_WAIT_AFTER_MS;
  let isAnnounced = false;
  try {
    for (;;) {
      const joined = await join();
      if (joined) return { joined };
      const holder = await lock.holder();
      if (holder && (isDead(holder) || isSilent(holder))) await lock.free(holder.token);
      if (await lock.tryTake()) return { lock };
      if (interrupted.signal.aborted) throw new LeftWaiting(folder, holder);
      if (holder && !isAnnounced && Date.now() >= announceAtMs) {
        isAnnounced = true;
        printLine(
          `Waiting for process ${holder.pid} on ${holder.host}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting.`,
        );
      }
      await sleep(CHECK_EVERY_MS, undefined, { signal: interrupted.signal }).catch(() => undefined);
    }
  } finally {
    stopListening();
  }
}

const lockFile = (folder: string) => join(folder, 'stack.lock');

/** After a crash of the machine, another program may have the pid of the lock's holder. */
function isSilent({ lastBeatMs }: { lastBeatMs: number }): boolean {
  return Date.now() - lastBeatMs > SILENT_AFTER_MS;
}

async function openStorage(env: Environment): Promise<VideoStorage> {
  const storage = createStorage(readStorageConfig(env));
  await storage.probe?.();
  return storage;
}

interface StackBase {
  folder: string;
  lock: ProcessLock;
  storage: VideoStorage;
}

async function startStack(
  { folder, lock, storage }: StackBase,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { env, terminal, printLine, port, uiPort, logLevel, faults } = options;
  const closers = new Closers(() => lock.release());
  try {
    const dbFilename = join(folder, 'temporal.db');
    await endOrphans(dbFilename, await readStackNote(folder));
    const executable = await findExecutable(options);
    const codecPort = await portOfCodec(options);
    const server = await startDevServer({
      executable,
      port,
      uiPort,
      uiCodecEndpoint: codecPort === undefined ? undefined : `http://127.0.0.1:${codecPort}${CODEC_PATH}`,
      dbFilename,
      logFile: join(folder, 'temporal.log'),
      onStarted: () => void load.workers(),
    });
    // Everything that it accepted is on disk. SIGTERM would only wait two seconds for its own pollers.
    closers.add(() => server.kill());
    await closeDataFiles(folder);
    const { address, namespace, uiUrl } = server;
    const client = await load.client().connectLocally({ address, namespace }, env, '20s');
    const [searchable, service] = await Promise.all([
      isSearchable(client, load.searchAttributes().registerSearchAttributes),
      load.workers().openService(env, folder, closers, { faults, printLine }),
      load.client().retainLong(client),
    ]);
    const taskQueue = localTaskQueue(env);
    const queues = options.forOtherPrograms ? [taskQueue, readTaskQueue(env)] : [taskQueue];
    await load
      .workers()
      .startWorkers({ env, address, queues, service, storage, logLevel, terminal }, closers);
    const pageUrl = options.forOtherPrograms
      ? await startGateway({ client, storage, uiUrl, searchable, codecPort }, options, closers)
      : undefined;
    const isEmulated = usesEmulator(env);
    const stored = storageAddress(readStorageConfig(env));
    await writeStackNote(folder, {
      pid: process.pid,
      serverPid: server.pid,
      address,
      namespace,
      uiUrl,
      pageUrl,
      storage: stored,
      ...(isEmulated && service
        ? { emulator: { url: service.baseUrl, key: service.apiKey() } }
        : { serviceName: servicesInUse(env) }),
    });
    closers.add(() => removeStackNote(folder));
    return {
      client,
      address,
      taskQueue,
      uiUrl,
      pageUrl,
      searchable,
      storage: stored,
      serviceUrl: describeServices(service, env),
      emulatorKey: isEmulated ? service?.apiKey() : undefined,
      startWorkerFor: (other, queue) =>
        startWorkerFor(
          { env, address, logLevel, terminal, openService: async () => service },
          other,
          queue,
          closers,
        ),
      close: () => closers.close(),
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** The address under which the gateway decrypts; the same as in the gateway, which takes long to load. */
const CODEC_PATH = '/codec';

/**
 * The port of a gateway that decrypts for the UI of this machine, which must be known before the UI starts. A gateway with keys
 * decrypts for nobody without one, and this UI has none.
 */
async function portOfCodec({ env, forOtherPrograms, gatewayPort }: LocalStackOptions) {
  if (!forOtherPrograms || readEncryptionKeys(env) === undefined) return undefined;
  return readGatewayConfig(env).keysFile === undefined ? (gatewayPort ?? (await freePort())) : undefined;
}

/** Returns the address of the page. Its jobs run on the configured task queue. */
async function startGateway(
  {
    client,
    storage,
    uiUrl,
    searchable,
    codecPort,
  }: Pick<LocalStack, 'client' | 'uiUrl' | 'searchable'> &
    Pick<StackBase, 'storage'> & { codecPort: number | undefined },
  { env, terminal, gatewayPort = 0, printLine }: LocalStackOptions,
  closers: Closers,
): Promise<string> {
  const { format } = readLogConfig({ level: 'info', isTerminal: terminal.columns() !== undefined }, env);
  const gateway = await load.gateway().createVideoGateway({
    env: {
      VIDEOGEN_SEARCH_ATTRIBUTES: String(searchable),
      // A line for every request of the page would bury those for people.
      VIDEOGEN_LOG_LEVEL: 'error',
      ...env,
      VIDEOGEN_LOG_FORMAT: format,
    },
    client,
    storage,
    temporalUiUrl: uiUrl,
    port: codecPort ?? gatewayPort,
    ...(codecPort !== undefined && { codec: true }),
    monitor: false,
    log: printLine,
  });
  closers.add(() => gateway.close());
  return gateway.url;
}

/** Undefined if no stack runs. */
async function joinStack(
  folder: string,
  storage: VideoStorage,
  { env, logLevel, terminal, forOtherPrograms }: LocalStackOptions,
): Promise<LocalStack | undefined> {
  const note = await readStackNote(folder);
  if (!note || !isAlive(note.pid)) return undefined;
  const closers = new Closers();
  const client = await load
    .client()
    .connectLocally(note, env)
    .catch(() => undefined);
  if (!client) return undefined;
  try {
    const { uiUrl, pageUrl, address, pid } = note;
    const taskQueue = localTaskQueue(env);
    const service = () => load.workers().openService(env, folder, closers, { running: note.emulator });
    const stack = {
      client,
      address,
      taskQueue,
      uiUrl,
      pageUrl,
      // A server that another version started may lack them.
      searchable: await isSearchable(client, load.searchAttributes().findSearchAttributes),
      storage: storageAddress(readStorageConfig(env)),
      runBy: { pid, storage: note.storage, emulator: note.emulator },
      ended: untilEnded(pid),
      startWorkerFor: (other: string, queue: string) =>
        startWorkerFor({ env, address, logLevel, terminal, openService: service }, other, queue, closers),
      close: () => closers.close(),
    };
    const isServed = servicesInUse(env) === note.serviceName && stack.storage === note.storage;
    // A second `dev` only says that the first one runs.
    if (isServed || forOtherPrograms) {
      const named = namesAService(env) ? readServiceConfig(env) : undefined;
      return { ...stack, serviceUrl: usesEmulator(env) ? 'the emulator' : describeServices(named, env) };
    }
    // Its worker uses another service or storage.
    const own = await service();
    const queues = [taskQueue];
    await load
      .workers()
      .startWorkers({ env, address, queues, service: own, storage, logLevel, terminal }, closers);
    return { ...stack, serviceUrl: describeServices(own, env) };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

interface WorkerOptions {
  env: Environment;
  address: string;
  logLevel: LocalStackOptions['logLevel'];
  terminal: LogTerminal;
  openService(): Promise<VideoServiceOptions | undefined>;
}

/** `http://127.0.0.1:4000, fal-seedance, my-veo`: the one without a name by its address. */
function describeServices(
  service: Pick<VideoServiceOptions, 'baseUrl'> | undefined,
  env: Environment,
): string {
  return [service?.baseUrl, ...(readServices(env)?.services.keys() ?? [])].filter(Boolean).join(', ');
}

/** Fails for a key that cannot be read before anything is started. */
function checkServices(env: Environment): void {
  for (const service of readServices(env)?.services.values() ?? []) keyReader(service, env);
}

/** A job keeps its storage. If the environment differs only in that, another worker can run the job here. */
async function startWorkerFor(
  options: WorkerOptions,
  storage: string,
  queue: string,
  closers: Closers,
): Promise<boolean> {
  const env = { ...options.env, VIDEOGEN_STORAGE: storage.replace(/ at .*$/, '') };
  if (localTaskQueue(env) !== queue) return false;
  const service = await options.openService();
  const { address, logLevel, terminal } = options;
  const queues = [queue];
  const opened = await openStorage(env);
  await load
    .workers()
    .startWorkers({ env, address, queues, service, storage: opened, logLevel, terminal }, closers);
  return true;
}

async function untilEnded(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(CHECK_EVERY_MS, undefined, { ref: false });
}

/** If this fails, jobs run without search attributes. */
async function isSearchable(
  { connection, options: { namespace } }: Client,
  readStates: ReturnType<typeof load.searchAttributes>['findSearchAttributes'],
): Promise<boolean> {
  const states = await readStates({ connection, namespace }).catch(() => undefined);
  return states !== undefined && load.searchAttributes().problemOf(states, namespace) === undefined;
}
