import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { localTaskQueue, resolveQueues } from '../config/queues';
import { type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import { readDataFolder, readServerOptions } from '../config/temporal-config';
import type { VideoServiceOptions } from '../service';
import { createStorage, storageAddress, type VideoStorage } from '../storage';
import {
  findDevServer,
  isAlive,
  isDead,
  ProcessLock,
  SILENT_AFTER_MS,
  startDevServer,
} from '../temporal-server';
import { Closers } from './closers';
import { closeDataFiles, makeDataFolder } from './data-folder';
import { endOrphans } from './end-orphans';
import { LeftWaiting } from './left-waiting';
import { readStackNote, removeStackNote, writeStackNote } from './stack-note';
import type { Terminal } from './terminal';

const LOOK_AGAIN_MS = 200;
/** Most wait for a moment only. */
const TELL_AFTER_MS = 3_000;

/** All that loads Temporal's SDK, which takes as long as the server takes to start: one is done while the other goes on. */
const load = {
  client: (): typeof import('./local-client') => require('./local-client'),
  workers: (): typeof import('./local-workers') => require('./local-workers'),
  searchAttributes: (): typeof import('../client/search-attributes') =>
    require('../client/search-attributes'),
};

/** Temporal, and a worker for the service and the storage that the environment names, on this machine. */
export interface LocalStack {
  client: Client;
  address: string;
  taskQueue: string;
  uiUrl?: string;
  serviceUrl: string;
  /** The key of an emulator that this process runs; it is no secret. */
  emulatorKey?: string;
  /** Whether jobs can have search attributes. */
  searchable: boolean;
  /** Address of the storage that the environment names. */
  storage: string;
  /** The process that runs the server when it is not ours, where its own worker stores, and when it has ended. */
  runBy?: { pid: number; storage: string };
  ended?: Promise<void>;
  /** Works here on the queue of another storage as well, if the environment can reach that one. */
  workFor(storage: string, queue: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface LocalStackOptions {
  env: Environment;
  tell: (line: string) => void;
  /** Shows a line in the place of the last one, on a terminal. */
  redraw?: ((line: string) => void) | undefined;
  /** Where somebody may leave while another process is waited for. */
  terminal: Pick<Terminal, 'onInterrupt'>;
  port?: number;
  uiPort?: number;
  /** Serve the task queue of the settings as well, for jobs that other programs start. */
  forEverybody?: boolean;
  /** What of the SDK's log is shown; errors unless set. */
  logLevel?: 'WARN';
}

/** Joins the stack that runs on this machine already, or starts one. Jobs are in a file there and outlive both. */
export async function openLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const folder = resolve(readDataFolder(options.env));
  // A wrong setting is told before anything is started.
  if (namesAService(options.env)) readServiceConfig(options.env);
  readDownloadOptions(options.env);
  // Nothing is ordered that could not be stored.
  const storage = await openStorage(options.env);
  await makeDataFolder(folder);
  const lock = new ProcessLock(join(folder, 'stack.lock'));
  const left = new AbortController();
  const stopListening = options.terminal.onInterrupt(() => left.abort());
  const tellAtMs = Date.now() + TELL_AFTER_MS;
  let isTold = false;
  try {
    for (;;) {
      const joined = await joinStack(folder, storage, options);
      if (joined) return joined;
      const holder = await lock.holder();
      if (holder && (isDead(holder) || isSilent(holder))) await lock.free(holder.token);
      if (await lock.tryTake()) break;
      if (left.signal.aborted) throw new LeftWaiting(folder, holder);
      if (holder && !isTold && Date.now() >= tellAtMs) {
        isTold = true;
        options.tell(
          `Waiting for process ${holder.pid} on ${holder.host}, which starts or ends Temporal in ${folder}. Ctrl-C leaves.`,
        );
      }
      await sleep(LOOK_AGAIN_MS, undefined, { signal: left.signal }).catch(() => undefined);
    }
  } finally {
    stopListening();
  }
  return startStack({ folder, lock, storage }, options);
}

/** After a crash of the machine, a stranger may have the number of the process that held the lock. */
function isSilent({ lastBeatMs }: { lastBeatMs: number }): boolean {
  return Date.now() - lastBeatMs > SILENT_AFTER_MS;
}

async function openStorage(env: Environment): Promise<VideoStorage> {
  const storage = createStorage(readStorageConfig(env));
  await storage.probe?.();
  return storage;
}

interface Ground {
  folder: string;
  lock: ProcessLock;
  storage: VideoStorage;
}

async function startStack(
  { folder, lock, storage }: Ground,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { env, tell, redraw, port, uiPort, logLevel } = options;
  const closers = new Closers(() => lock.release());
  try {
    const dbFilename = join(folder, 'temporal.db');
    await endOrphans(dbFilename, await readStackNote(folder));
    const executable = await findDevServer({ ...readServerOptions(env), onProgress: tell, onRedraw: redraw });
    const server = await startDevServer({
      executable,
      port,
      uiPort,
      dbFilename,
      logFile: join(folder, 'temporal.log'),
      onStarted: () => void load.workers(),
    });
    // What it has accepted is on disk; a polite end would only wait two seconds for pollers of its own.
    closers.add(() => server.kill());
    await closeDataFiles(folder);
    const { address, namespace, uiUrl } = server;
    const client = await load.client().connectLocally({ address, namespace }, '20s');
    const [searchable, service] = await Promise.all([
      isSearchable(client, load.searchAttributes().registerSearchAttributes),
      load.workers().openService(env, folder, closers),
      load.client().retainLong(client),
    ]);
    const taskQueue = localTaskQueue(env);
    const queues = options.forEverybody ? [taskQueue, resolveQueues({}, env).taskQueue] : [taskQueue];
    await load.workers().startWorkers({ env, address, queues, service, storage, logLevel }, closers);
    const isEmulated = !namesAService(env);
    const stored = storageAddress(readStorageConfig(env));
    await writeStackNote(folder, {
      pid: process.pid,
      serverPid: server.pid,
      address,
      namespace,
      uiUrl,
      storage: stored,
      ...(isEmulated
        ? { emulator: { url: service.baseUrl, key: service.apiKey() } }
        : { serviceName: service.baseUrl }),
    });
    closers.add(() => removeStackNote(folder));
    return {
      client,
      address,
      taskQueue,
      uiUrl,
      searchable,
      storage: stored,
      serviceUrl: service.baseUrl,
      emulatorKey: isEmulated ? service.apiKey() : undefined,
      workFor: (other, queue) =>
        workFor({ env, address, logLevel, openService: async () => service }, other, queue, closers),
      close: () => closers.close(),
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Undefined when no stack runs, or the one that left its note is gone. */
async function joinStack(
  folder: string,
  storage: VideoStorage,
  { env, logLevel }: LocalStackOptions,
): Promise<LocalStack | undefined> {
  const note = await readStackNote(folder);
  if (!note || !isAlive(note.pid)) return undefined;
  const closers = new Closers();
  const client = await load
    .client()
    .connectLocally(note)
    .catch(() => undefined);
  if (!client) return undefined;
  try {
    const { uiUrl, address, pid } = note;
    const taskQueue = localTaskQueue(env);
    const service = () => load.workers().openService(env, folder, closers, note.emulator);
    const stack = {
      client,
      address,
      taskQueue,
      uiUrl,
      // The server of another version may have none.
      searchable: await isSearchable(client, load.searchAttributes().findSearchAttributes),
      storage: storageAddress(readStorageConfig(env)),
      runBy: { pid, storage: note.storage },
      ended: untilEnded(pid),
      workFor: (other: string, queue: string) =>
        workFor({ env, address, logLevel, openService: service }, other, queue, closers),
      close: () => closers.close(),
    };
    const wanted = namesAService(env) ? readServiceConfig(env).baseUrl : undefined;
    if (wanted === note.serviceName && stack.storage === note.storage) {
      return { ...stack, serviceUrl: wanted ?? 'the emulator' };
    }
    // Its worker works for another service, or stores elsewhere.
    const own = await service();
    const queues = [taskQueue];
    await load.workers().startWorkers({ env, address, queues, service: own, storage, logLevel }, closers);
    return { ...stack, serviceUrl: own.baseUrl };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

interface Here {
  env: Environment;
  address: string;
  logLevel: LocalStackOptions['logLevel'];
  openService(): Promise<VideoServiceOptions>;
}

/** A job stays with its storage. Where the environment differs in nothing else, it can go on here all the same. */
async function workFor(here: Here, storage: string, queue: string, closers: Closers): Promise<boolean> {
  const env = { ...here.env, VIDEOGEN_STORAGE: storage.replace(/ at .*$/, '') };
  if (localTaskQueue(env) !== queue) return false;
  const service = await here.openService();
  const { address, logLevel } = here;
  const queues = [queue];
  const opened = await openStorage(env);
  await load.workers().startWorkers({ env, address, queues, service, storage: opened, logLevel }, closers);
  return true;
}

async function untilEnded(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(LOOK_AGAIN_MS, undefined, { ref: false });
}

/** Jobs go without what cannot be had. */
async function isSearchable(
  { connection, options: { namespace } }: Client,
  look: ReturnType<typeof load.searchAttributes>['findSearchAttributes'],
): Promise<boolean> {
  const found = await look({ connection, namespace }).catch(() => undefined);
  return found !== undefined && load.searchAttributes().problemOf(found, namespace) === undefined;
}
