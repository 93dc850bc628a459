import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { type Environment, namesAService, readServiceConfig } from '../config';
import { startEmulator } from '../emulator';
import { findDevServer, isAlive, isDead, ProcessLock, SILENT_AFTER_MS, startDevServer } from '../engine';
import { answers } from '../engine/loopback-port';
import { findSearchAttributes, problemOf, registerSearchAttributes } from '../search-attributes';
import { createVideoService, RateGate, type VideoServiceOptions } from '../service';
import { createStorage } from '../storage';
import { readDownloadOptions, readStorageConfig } from '../storage-config';
import { readDataFolder, readEngineOptions, readTaskQueue } from '../temporal-config';
import { createVideoWorker } from '../worker';
import { Closers } from './closers';
import { readStackNote, removeStackNote, type StackNote, writeStackNote } from './stack-note';

/** Emulated generations are short, so that the first minute is one. */
export const EMULATED_JOB_MS = 4_000;
const LOOK_AGAIN_MS = 200;
/** Ten times what is enough when the machine is not busy. */
const ORPHAN_ANSWERS_WITHIN_MS = 20_000;

/** Temporal, and a worker for the service that the environment names, on this machine. */
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
  /** The process that runs the server when it is not ours, and when that has ended. */
  runBy?: number;
  ended?: Promise<void>;
  close(): Promise<void>;
}

export interface LocalStackOptions {
  env: Environment;
  tell: (line: string) => void;
  port?: number;
  uiPort?: number;
  /** Serve the task queue of the settings as well, for jobs that other programs start. */
  forEverybody?: boolean;
}

/** Joins the stack that runs on this machine already, or starts one. Jobs are in a file there and outlive both. */
export async function openLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const folder = readDataFolder(options.env);
  // A wrong setting is told before anything is started.
  if (namesAService(options.env)) readServiceConfig(options.env);
  readStorageConfig(options.env);
  readDownloadOptions(options.env);
  await mkdir(folder, { recursive: true });
  const lock = new ProcessLock(join(folder, 'stack.lock'));
  for (;;) {
    const joined = await joinStack(folder, options);
    if (joined) return joined;
    const holder = await lock.holder();
    if (holder && (isDead(holder) || isSilent(holder))) await lock.free(holder.token);
    if (await lock.tryTake()) return startStack(folder, lock, options);
    await sleep(LOOK_AGAIN_MS);
  }
}

/** After a crash of the machine, a stranger may have the number of the process that held the lock. */
function isSilent({ lastBeatMs }: { lastBeatMs: number }): boolean {
  return Date.now() - lastBeatMs > SILENT_AFTER_MS;
}

async function startStack(
  folder: string,
  lock: ProcessLock,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { env, tell, port, uiPort } = options;
  const closers = new Closers(() => lock.release());
  try {
    await endOrphan(await readStackNote(folder));
    const executable = await findDevServer({ ...readEngineOptions(env), onProgress: tell });
    const server = await startDevServer({
      executable,
      port,
      uiPort,
      dbFilename: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
    });
    closers.add(() => server.stop());
    const { address, namespace, uiUrl } = server;
    const client = await connect({ address, namespace }, '20s');
    const searchable = await isSearchable(client, registerSearchAttributes);
    const service = await openService(env, folder, closers);
    const taskQueue = queueFor(env);
    const queues = options.forEverybody ? [taskQueue, readTaskQueue(env)] : [taskQueue];
    await startWorkers({ env, address, queues, service }, closers);
    const serviceName = namesAService(env) ? service.baseUrl : undefined;
    await writeStackNote(folder, {
      pid: process.pid,
      serverPid: server.pid,
      address,
      namespace,
      uiUrl,
      serviceName,
    });
    closers.add(() => removeStackNote(folder));
    return {
      client,
      address,
      taskQueue,
      uiUrl,
      searchable,
      serviceUrl: service.baseUrl,
      emulatorKey: namesAService(env) ? undefined : service.apiKey(),
      close: () => closers.close(),
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** A process that was killed outright leaves its server running, and the server its database locked. */
async function endOrphan(note: StackNote | undefined): Promise<void> {
  if (!note || isAlive(note.pid)) return;
  if (!(await answersAsServer(note))) return;
  process.kill(note.serverPid, 'SIGTERM');
  while (isAlive(note.serverPid)) await sleep(LOOK_AGAIN_MS);
}

/**
 * Another program may have the number of the server by now: it is the server only if it answers as one. On a busy machine
 * it may accept a connection long before it answers; where nobody accepts any, there is no server.
 */
async function answersAsServer(note: StackNote): Promise<boolean> {
  const port = Number(note.address.split(':').at(-1));
  const giveUpAtMs = Date.now() + ORPHAN_ANSWERS_WITHIN_MS;
  while (isAlive(note.serverPid) && Date.now() < giveUpAtMs && (await answers(port))) {
    const client = await connect(note).catch(() => undefined);
    await client?.connection.close();
    if (client) return true;
  }
  return false;
}

/** Undefined when no stack runs, or the one that left its note is gone. */
async function joinStack(folder: string, { env }: LocalStackOptions): Promise<LocalStack | undefined> {
  const note = await readStackNote(folder);
  if (!note || !isAlive(note.pid)) return undefined;
  const closers = new Closers();
  const client = await connect(note).catch(() => undefined);
  if (!client) return undefined;
  try {
    const { uiUrl, address, pid } = note;
    const taskQueue = queueFor(env);
    const wanted = namesAService(env) ? readServiceConfig(env).baseUrl : undefined;
    const stack = {
      client,
      address,
      uiUrl,
      // The server of another version may have none.
      searchable: await isSearchable(client, findSearchAttributes),
      runBy: pid,
      ended: untilEnded(pid),
      close: () => closers.close(),
    };
    if (wanted === note.serviceName) return { ...stack, taskQueue, serviceUrl: wanted ?? 'the emulator' };
    // Its worker works for another service.
    const service = await openService(env, folder, closers);
    await startWorkers({ env, address, queues: [taskQueue], service }, closers);
    return { ...stack, taskQueue, serviceUrl: service.baseUrl };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Each service has a queue of its own, the same whoever runs the server: a job never gets to another service's worker. */
function queueFor(env: Environment): string {
  if (!namesAService(env)) return `${readTaskQueue(env)}-emulator`;
  const digest = createHash('sha256').update(readServiceConfig(env).baseUrl).digest('hex');
  return `${readTaskQueue(env)}-${digest.slice(0, 8)}`;
}

async function untilEnded(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(LOOK_AGAIN_MS, undefined, { ref: false });
}

/**
 * The connection is not among what is closed: the SDK may be retrying a call on it, which would then throw where nobody
 * can catch it, and the process is about to end anyway.
 */
async function connect(
  { address, namespace }: Pick<StackNote, 'address' | 'namespace'>,
  connectTimeout: '2s' | '20s' = '2s',
): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout });
  return new Client({ connection, namespace });
}

/** Jobs go without what cannot be had. */
async function isSearchable(
  { connection, options: { namespace } }: Client,
  look: typeof findSearchAttributes,
): Promise<boolean> {
  const found = await look({ connection, namespace }).catch(() => undefined);
  return found !== undefined && problemOf(found, namespace) === undefined;
}

async function openService(env: Environment, folder: string, closers: Closers): Promise<VideoServiceOptions> {
  if (namesAService(env)) return readServiceConfig(env);
  const emulator = await startEmulator({
    jobTimeMs: EMULATED_JOB_MS,
    tasksFile: join(folder, 'emulated-tasks.jsonl'),
  });
  closers.add(() => emulator.close());
  return { baseUrl: emulator.url, apiKey: () => emulator.apiKey };
}

interface LocalWorkers {
  env: Environment;
  address: string;
  queues: string[];
  service: VideoServiceOptions;
}

async function startWorkers(
  { env, address, queues, service: serviceOptions }: LocalWorkers,
  closers: Closers,
): Promise<void> {
  const service = createVideoService(serviceOptions);
  closers.add(() => service.close());
  const connection = await NativeConnection.connect({ address });
  closers.add(() => connection.close());
  const storage = createStorage(readStorageConfig(env));
  const gate = new RateGate();
  for (const taskQueue of queues) {
    // A queue that services share would hand the one's downloads to the other's worker.
    const downloadQueue = taskQueue === queueFor(env) ? taskQueue : undefined;
    const worker = await createVideoWorker({
      env,
      connection,
      taskQueue,
      downloadQueue,
      service,
      storage,
      gate,
      // On a server of our own nobody would make a version current, and no job would begin.
      worker: { workerDeploymentOptions: undefined },
    });
    // A worker that fails is not caught here: it ends the process.
    const running = worker.run();
    closers.add(async () => {
      worker.shutdown();
      await running;
    });
  }
}
