import type { Client } from '@temporalio/client';
import { readEncryptionKeys, readLogConfig } from '../config/operation-config';
import { localTaskQueue } from '../config/queues';
import {
  type Environment,
  keyReader,
  namesAService,
  readServiceConfig,
  servicesInUse,
  usesEmulator,
} from '../config/service-config';
import { readSetting } from '../config/settings';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import { createStorage, storageAddress, type VideoStorage } from '../storage';
import { freePort } from '../temporal-server';
import { Closers } from './closers';
import { openLocalServer } from './local-server';
import type { ScriptedFault } from './read-faults';
import { type StackNote, untilEnded } from './stack-note';
import { printLine, type Terminal } from './terminal';

/** Modules that load Temporal's SDK. That takes as long as the server's start, so both happen at once. */
const load = {
  temporal: (): typeof import('./find-temporal') => require('./find-temporal'),
  workers: (): typeof import('./local-workers') => require('./local-workers'),
  searchAttributes: (): typeof import('../client/search-attributes') =>
    require('../client/search-attributes'),
  gateway: (): typeof import('../gateway') => require('../gateway'),
};

/** A local Temporal server, and a worker for the configured service and storage. */
export interface LocalStack {
  client: Client;
  /** Of the process that runs the server. */
  note: StackNote;
  /** Set if another process runs the server; settles when that ends. */
  ended?: Promise<void>;
  taskQueue: string;
  /** Whether the namespace has the search attributes of jobs. */
  searchable: boolean;
  /** Address of the configured storage. */
  storage: string;
  close(): Promise<void>;
}

/** What `videogen dev` adds. */
export interface DevOfStack {
  port?: number | undefined;
  uiPort?: number | undefined;
  /** A free one by default. */
  gatewayPort?: number | undefined;
  /** Faults for the next calls of an emulator that this process starts. Its submits are then printed. */
  faults: readonly ScriptedFault[];
}

/**
 * Joins the stack that already runs on this machine, or starts one. For `dev`, it also serves the configured task queue, for jobs that
 * other programs start, and runs the gateway.
 */
export async function openLocalStack(terminal: Terminal, dev?: DevOfStack): Promise<LocalStack> {
  const { env } = terminal;
  // An invalid setting fails before anything is started.
  if (namesAService(env)) readServiceConfig(env);
  for (const service of readSetting('VIDEOGEN_SERVICES_FILE', env)?.services.values() ?? [])
    keyReader(service, env);
  readDownloadOptions(env);
  // No video is paid for that could not be stored.
  const storage = createStorage(readStorageConfig(env));
  await storage.probe?.();
  const closers = new Closers();
  try {
    return await openStack(terminal, storage, closers, dev);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function openStack(
  terminal: Terminal,
  storage: VideoStorage,
  closers: Closers,
  dev: DevOfStack | undefined,
): Promise<LocalStack> {
  const { env } = terminal;
  const codecPort = dev && (await portOfCodec(env, dev.gatewayPort));
  const opened = await openLocalServer(terminal, closers, {
    port: dev?.port,
    uiPort: dev?.uiPort,
    uiCodecEndpoint: codecPort === undefined ? undefined : `http://127.0.0.1:${codecPort}${CODEC_PATH}`,
    onStarted: () => void load.workers(),
  });
  const { client, joined } = opened;
  const { registerSearchAttributes } = load.searchAttributes();
  const { namespace } = client.options;
  const [searchable, service] = await Promise.all([
    // If this fails, jobs run without search attributes.
    registerSearchAttributes({ connection: client.connection, namespace }).then(
      (problem) => problem === undefined,
      () => false,
    ),
    load.workers().openService(terminal, closers, { running: joined?.emulator, faults: dev?.faults }),
    joined ?? load.temporal().retainLong(client),
  ]);
  const taskQueue = localTaskQueue(env);
  const stack = {
    client,
    taskQueue,
    searchable,
    storage: storageAddress(readStorageConfig(env)),
    close: () => closers.close(),
  };
  const workers = { terminal, service, storage, logLevel: dev ? 'info' : 'error', closers } as const;
  if (joined) {
    const { address, pid } = joined;
    const isServed = servicesInUse(env) === joined.serviceName && stack.storage === joined.storage;
    // A second `dev` only says that the first one runs.
    if (!isServed && !dev) await load.workers().startWorkers({ ...workers, address, queues: [taskQueue] });
    return { ...stack, note: joined, ended: untilEnded(pid) };
  }
  const { server, claim } = opened;
  const { address, uiUrl } = server;
  const gateway = { client, storage, temporalUiUrl: uiUrl, searchable, codecPort, port: dev?.gatewayPort };
  const pageUrl = dev && (await startGateway(gateway, terminal, closers));
  const queues = dev ? [taskQueue, readSetting('VIDEOGEN_TASK_QUEUE', env)] : [taskQueue];
  await load.workers().startWorkers({ ...workers, address, queues, gatewayUrl: pageUrl });
  const note: StackNote = {
    pid: process.pid,
    serverPid: server.pid,
    address,
    namespace,
    uiUrl,
    pageUrl,
    storage: stack.storage,
    serviceName: servicesInUse(env),
    emulator: usesEmulator(env) && service ? { url: service.baseUrl, key: service.apiKey() } : undefined,
  };
  await claim.writeNote(note);
  closers.add(() => claim.removeNote());
  return { ...stack, note };
}

/** The address under which the gateway decrypts; the same as in the gateway, which takes long to load. */
const CODEC_PATH = '/codec';

/**
 * The port of a gateway that decrypts for the UI of this machine, which must be known before the UI starts. A gateway with keys
 * decrypts for nobody without one, and this UI has none.
 */
async function portOfCodec(env: Environment, gatewayPort: number | undefined): Promise<number | undefined> {
  if (readEncryptionKeys(env) === undefined || readSetting('VIDEOGEN_GATEWAY_KEYS_FILE', env) !== undefined)
    return undefined;
  return gatewayPort ?? freePort();
}

interface LocalGateway extends Pick<LocalStack, 'client' | 'searchable'> {
  storage: VideoStorage;
  temporalUiUrl: string | undefined;
  codecPort: number | undefined;
  port: number | undefined;
}

/** Returns the address of the page. Its jobs run on the configured task queue. */
async function startGateway(
  { searchable, codecPort, port = 0, ...given }: LocalGateway,
  terminal: Terminal,
  closers: Closers,
): Promise<string> {
  const { env } = terminal;
  const { format } = readLogConfig({ level: 'info', isTerminal: terminal.columns() !== undefined }, env);
  const gateway = await load.gateway().createVideoGateway({
    ...given,
    env: {
      VIDEOGEN_SEARCH_ATTRIBUTES: String(searchable),
      // A line for every request of the page would bury those for people.
      VIDEOGEN_LOG_LEVEL: 'error',
      ...env,
      VIDEOGEN_LOG_FORMAT: format,
    },
    port: codecPort ?? port,
    ...(codecPort !== undefined && { codec: true }),
    monitor: false,
    log: (line) => printLine(terminal, line),
  });
  closers.add(() => gateway.close());
  return gateway.url;
}
