import type { Client } from '@temporalio/client';
import { readEncryptionKeys, readLogConfig } from '../config/operation-config';
import { localTaskQueue } from '../config/queues';
import {
  keyReader,
  namesAService,
  readServiceConfig,
  servicesInUse,
  usesEmulator,
} from '../config/service-config';
import { readSetting } from '../config/settings';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import type { VideoGatewayOptions } from '../gateway';
import { createStorage, storageAddress, type VideoStorage } from '../storage';
import { freePort } from '../temporal-server';
import { type Closers, closingOnError } from './closers';
import { openLocalServer } from './local-server';
import type { ScriptedFault } from './read-faults';
import { type StackNote, untilEnded } from './stack-note';
import { printLine, type Terminal } from './terminal';

/** Modules that load Temporal's SDK. That takes as long as the server's start, so both happen at once. */
const load = {
  temporal: (): typeof import('./find-temporal') => require('./find-temporal'),
  workers: (): typeof import('./local-workers') => require('./local-workers'),
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
  /** Whether the worker of that process serves the task queue, with the settings that it was started with. */
  isServedThere?: boolean;
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
  for (const service of Object.values(readSetting('VIDEOGEN_SERVICES_FILE', env)?.services ?? {}))
    keyReader(service, env);
  readDownloadOptions(env);
  // No video is paid for that could not be stored.
  const storage = createStorage(readStorageConfig(env));
  await storage.probe?.();
  return closingOnError((closers) => openStack(terminal, storage, closers, dev));
}

/** The address under which the gateway decrypts; the same as in the gateway, which takes long to load. */
const CODEC_PATH = '/codec';

async function openStack(
  terminal: Terminal,
  storage: VideoStorage,
  closers: Closers,
  dev: DevOfStack | undefined,
): Promise<LocalStack> {
  const { env } = terminal;
  // The UI is told at its start where the gateway decrypts for it.
  const gatewayPort = dev && (dev.gatewayPort ?? (await freePort()));
  // A gateway with keys decrypts for nobody without one, and this UI has none.
  const codec =
    readEncryptionKeys(env) !== undefined && readSetting('VIDEOGEN_GATEWAY_KEYS_FILE', env) === undefined;
  const opened = await openLocalServer(terminal, closers, {
    port: dev?.port,
    uiPort: dev?.uiPort,
    uiCodecEndpoint: dev && codec ? `http://127.0.0.1:${gatewayPort}${CODEC_PATH}` : undefined,
    onStarted: () => void load.workers(),
  });
  const { client, joined } = opened;
  const [service] = await Promise.all([
    load.workers().openService(terminal, closers, joined?.emulator, dev?.faults),
    joined ?? load.temporal().prepareNamespace(client),
  ]);
  const taskQueue = localTaskQueue(env);
  const serviceName = servicesInUse(env);
  const storageUri = storageAddress(readStorageConfig(env));
  const stack = { client, taskQueue, close: () => closers.close() };
  const workers = { terminal, service, storage, logLevel: dev ? 'info' : 'error', closers } as const;
  if (joined) {
    const { address, pid } = joined;
    const isServed = serviceName === joined.serviceName && storageUri === joined.storage;
    // A second `dev` only says that the first one runs.
    if (!isServed && !dev) await load.workers().startWorkers({ ...workers, address, queues: [taskQueue] });
    return { ...stack, note: joined, ended: untilEnded(pid), isServedThere: isServed };
  }
  const { server, claim } = opened;
  const { address, uiUrl } = server;
  const pageUrl =
    dev &&
    (await startGateway(terminal, closers, {
      client,
      storage,
      temporalUiUrl: uiUrl,
      port: gatewayPort,
      // Otherwise the settings say for whom it decrypts.
      ...(codec && { codec }),
    }));
  const queues = dev ? [taskQueue, readSetting('VIDEOGEN_TASK_QUEUE', env)] : [taskQueue];
  await load.workers().startWorkers({ ...workers, address, queues, gatewayUrl: pageUrl });
  const note: StackNote = {
    pid: process.pid,
    serverPid: server.pid,
    address,
    namespace: client.options.namespace,
    uiUrl,
    pageUrl,
    storage: storageUri,
    serviceName,
    emulator: usesEmulator(env) && service ? { url: service.baseUrl, key: service.apiKey() } : undefined,
  };
  await claim.writeNote(note);
  closers.add(() => claim.removeNote());
  return { ...stack, note };
}

/** Returns the address of the page. Its jobs run on the configured task queue. */
async function startGateway(
  terminal: Terminal,
  closers: Closers,
  options: Pick<VideoGatewayOptions, 'client' | 'storage' | 'temporalUiUrl' | 'port' | 'codec'>,
): Promise<string> {
  const { env, isTerminal } = terminal;
  const { format } = readLogConfig({ level: 'info', isTerminal }, env);
  const gateway = await load.gateway().createVideoGateway({
    ...options,
    env: {
      VIDEOGEN_SEARCH_ATTRIBUTES: 'true',
      // A line for every request of the page would bury those for people.
      VIDEOGEN_LOG_LEVEL: 'error',
      ...env,
      VIDEOGEN_LOG_FORMAT: format,
    },
    monitor: false,
    log: (line) => printLine(terminal, line),
  });
  closers.add(() => gateway.close());
  return gateway.url;
}
