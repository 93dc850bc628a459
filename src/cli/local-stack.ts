import { resolve } from 'node:path';
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
import { freePort } from '../temporal-server';
import type { Closers } from './closers';
import { makeDataFolder } from './data-folder';
import {
  connectTo,
  type JoinedServer,
  type LocalServerOptions,
  startServer,
  whileOpen,
} from './local-server';
import type { ScriptedFault } from './read-faults';
import { joinOrClaim, type StackClaim, type StackNote, untilEnded } from './stack-note';

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

export interface LocalStackOptions extends LocalServerOptions {
  port?: number;
  uiPort?: number;
  /** Serves the configured task queue as well, for jobs that other programs start, and runs the gateway. */
  forOtherPrograms?: boolean;
  /** A free one by default. */
  gatewayPort?: number;
  /** The log's level if none is set; errors only by default. */
  logLevel?: LogLevel;
  /** Faults for the next calls of an emulator that this process starts. Its submits are then printed. */
  faults?: readonly ScriptedFault[];
}

/** Joins the stack that already runs on this machine, or starts one. Jobs are stored in a file and outlive both. */
export async function openLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const { env } = options;
  const folder = resolve(readDataFolder(env));
  // An invalid setting fails before anything is started.
  if (namesAService(env)) readServiceConfig(env);
  for (const service of readServices(env)?.services.values() ?? []) keyReader(service, env);
  readDownloadOptions(env);
  readEncryptionKeys(env);
  // No video is paid for that could not be stored.
  const storage = await openStorage(env);
  await makeDataFolder(folder);
  return whileOpen(async (closers) => {
    const parts = { folder, storage, closers };
    const access = await joinOrClaim(folder, (note) => connectTo(note, env), options);
    return 'joined' in access
      ? joinStack(access.joined, parts, options)
      : startStack(access.claim, parts, options);
  });
}

interface StackParts {
  folder: string;
  storage: VideoStorage;
  closers: Closers;
}

async function startStack(
  claim: StackClaim,
  parts: StackParts,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { env, printLine, port, uiPort, faults, forOtherPrograms } = options;
  const { folder, storage, closers } = parts;
  const codecPort = await portOfCodec(options);
  const server = await startServer(claim, parts, options, {
    port,
    uiPort,
    uiCodecEndpoint: codecPort === undefined ? undefined : `http://127.0.0.1:${codecPort}${CODEC_PATH}`,
    onStarted: () => void load.workers(),
  });
  const { client, address, namespace, uiUrl } = server;
  const [searchable, service] = await Promise.all([
    isSearchable(client, load.searchAttributes().registerSearchAttributes),
    load.workers().openService(env, folder, closers, { faults, printLine }),
    load.client().retainLong(client),
  ]);
  const { startWorkers, startWorkerFor } = workersOf(address, async () => service, parts, options);
  const taskQueue = localTaskQueue(env);
  await startWorkers(forOtherPrograms ? [taskQueue, readTaskQueue(env)] : [taskQueue], storage);
  const pageUrl = forOtherPrograms
    ? await startGateway({ client, uiUrl, searchable, codecPort }, parts, options)
    : undefined;
  const isEmulated = usesEmulator(env);
  const stored = storageAddress(readStorageConfig(env));
  await claim.writeNote({
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
  closers.add(() => claim.removeNote());
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
    startWorkerFor,
    close: () => closers.close(),
  };
}

async function joinStack(
  { client, note }: JoinedServer,
  parts: StackParts,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { env, forOtherPrograms } = options;
  const { folder, storage, closers } = parts;
  const { uiUrl, pageUrl, address, pid } = note;
  const openService = () => load.workers().openService(env, folder, closers, { running: note.emulator });
  const { startWorkers, startWorkerFor } = workersOf(address, openService, parts, options);
  const stack = {
    client,
    address,
    taskQueue: localTaskQueue(env),
    uiUrl,
    pageUrl,
    // A server that another version started may lack them.
    searchable: await isSearchable(client, load.searchAttributes().searchAttributeProblem),
    storage: storageAddress(readStorageConfig(env)),
    runBy: { pid, storage: note.storage, emulator: note.emulator },
    ended: untilEnded(pid),
    startWorkerFor,
    close: () => closers.close(),
  };
  const isServed = servicesInUse(env) === note.serviceName && stack.storage === note.storage;
  // A second `dev` only says that the first one runs.
  if (isServed || forOtherPrograms) {
    const named = namesAService(env) ? readServiceConfig(env) : undefined;
    return { ...stack, serviceUrl: usesEmulator(env) ? 'the emulator' : describeServices(named, env) };
  }
  // Its worker uses another service or storage.
  const service = await startWorkers([stack.taskQueue], storage);
  return { ...stack, serviceUrl: describeServices(service, env) };
}

/** Starts workers of this process, all with one service. */
function workersOf(
  address: string,
  openService: () => Promise<VideoServiceOptions | undefined>,
  { closers }: Pick<StackParts, 'closers'>,
  { env, logLevel, terminal }: LocalStackOptions,
) {
  const startWorkers = async (queues: string[], storage: VideoStorage, workerEnv = env) => {
    const service = await openService();
    const worker = { env: workerEnv, address, queues, service, storage, logLevel, terminal };
    await load.workers().startWorkers(worker, closers);
    return service;
  };
  return {
    startWorkers,
    /** A job keeps its storage. If the environment differs only in that, another worker can run the job here. */
    async startWorkerFor(storage: string, queue: string): Promise<boolean> {
      const other = { ...env, VIDEOGEN_STORAGE: storage.replace(/ at .*$/, '') };
      if (localTaskQueue(other) !== queue) return false;
      await startWorkers([queue], await openStorage(other), other);
      return true;
    },
  };
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
    uiUrl,
    searchable,
    codecPort,
  }: Pick<LocalStack, 'client' | 'uiUrl' | 'searchable'> & { codecPort: number | undefined },
  { storage, closers }: StackParts,
  { env, terminal, gatewayPort = 0, printLine }: LocalStackOptions,
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

async function openStorage(env: Environment): Promise<VideoStorage> {
  const storage = createStorage(readStorageConfig(env));
  await storage.probe?.();
  return storage;
}

/** `http://127.0.0.1:4000, fal-seedance, my-veo`: the one without a name by its address. */
function describeServices(
  service: Pick<VideoServiceOptions, 'baseUrl'> | undefined,
  env: Environment,
): string {
  return [service?.baseUrl, ...(readServices(env)?.services.keys() ?? [])].filter(Boolean).join(', ');
}

/** If this fails, jobs run without search attributes. */
async function isSearchable(
  { connection, options: { namespace } }: Client,
  findProblem: ReturnType<typeof load.searchAttributes>['searchAttributeProblem'],
): Promise<boolean> {
  const problem = await findProblem({ connection, namespace }).catch(() => 'they cannot be listed');
  return problem === undefined;
}
