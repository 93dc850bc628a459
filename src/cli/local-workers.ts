import { join, resolve } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { localTaskQueue } from '../config/queues';
import { namesAService, readServiceConfig, usesEmulator } from '../config/service-config';
import { readSetting } from '../config/settings';
import { readDataFolder } from '../config/temporal-config';
import type { LogLevel } from '../contract/log-events';
import { createVideoService, RateLimiters, type VideoServiceOptions } from '../service';
import type { VideoStorage } from '../storage';
import { type Emulator, emulatedTimes, startEmulator } from '../testing/emulator';
import { createVideoWorker } from '../worker/video-worker';
import type { Closers } from './closers';
import { callDescriber } from './emulator';
import { openLog } from './open-log';
import type { ScriptedFault } from './read-faults';
import { EMULATED_JOB_MS, type StackNote } from './stack-note';
import { printLine, type Terminal } from './terminal';

/**
 * The configured service without a name, or an emulator: the one that runs, or a new one with faults for its next calls. With faults
 * it prints each submit and the task that it made, so that a lost task can be found. Undefined where all services have names.
 */
export async function openService(
  terminal: Terminal,
  closers: Closers,
  running: StackNote['emulator'],
  faults: readonly ScriptedFault[] = [],
): Promise<VideoServiceOptions | undefined> {
  const { env } = terminal;
  if (namesAService(env)) return readServiceConfig(env);
  if (!usesEmulator(env)) return undefined;
  if (running !== undefined) return emulatorAt({ url: running.url, apiKey: running.key }, env);
  // Each video is painted while its job waits, one at a time.
  let painting: Promise<unknown> = Promise.resolve();
  const emulator = await startEmulator({
    jobTimeMs: EMULATED_JOB_MS,
    tasksFile: join(resolve(readDataFolder(env)), 'emulated-tasks.jsonl'),
    onCall: (called) => {
      if (called.call !== 'submit') return;
      if (faults.length > 0) printLine(terminal, describeCall(called));
      const task = emulator.generations().at(-1);
      painting = painting.then(() => task && emulator.video(task.taskId)).catch(() => undefined);
    },
  });
  const describeCall = callDescriber(emulator);
  for (const { call, fault } of faults) emulator.next(call, fault);
  closers.add(() => emulator.close());
  return emulatorAt(emulator, env);
}

/** Its polls cost nothing. Of a profile for a service with other requests and answers, the prices hold here too. */
function emulatorAt(
  { url, apiKey }: Pick<Emulator, 'url' | 'apiKey'>,
  env: Terminal['env'],
): VideoServiceOptions {
  const { prices } = readSetting('VIDEOGEN_PROFILE', env) ?? {};
  const polling = { min: '1s', usually: emulatedTimes(EMULATED_JOB_MS) };
  return { baseUrl: url, apiKey: () => apiKey, profile: { polling, ...(prices && { prices }) } };
}

interface LocalWorkers {
  terminal: Terminal;
  /** Address of the Temporal server. */
  address: string;
  queues: string[];
  /** The service of jobs that name none; undefined if there is none. */
  service: VideoServiceOptions | undefined;
  /** Already probed. */
  storage: VideoStorage;
  /** Address of the gateway of this stack, if it has one. */
  gatewayUrl?: string | undefined;
  /** The log's level if none is set. */
  logLevel: LogLevel;
  closers: Closers;
}

export async function startWorkers(workers: LocalWorkers): Promise<void> {
  const { terminal, address, queues, service: serviceOptions, storage, logLevel, closers } = workers;
  const { env } = terminal;
  openLog(terminal, logLevel);
  const opened = serviceOptions && createVideoService(serviceOptions);
  closers.add(async () => opened?.close());
  const isEmulated = usesEmulator(env);
  // There is nothing to learn about an emulator, which has another address each time.
  const service = opened && isEmulated ? { ...opened, address: undefined } : opened;
  const file = readSetting('VIDEOGEN_SERVICES_FILE', env);
  const named = Object.values(file?.services ?? {});
  const gatewayUrl =
    readSetting('VIDEOGEN_GATEWAY_URL', env) ??
    imagesFrom(
      [serviceOptions, ...named],
      workers.gatewayUrl ?? (isEmulated ? serviceOptions?.baseUrl : undefined),
    );
  const connection = await NativeConnection.connect({ address });
  closers.add(() => connection.close());
  const rateLimiters = new RateLimiters();
  for (const taskQueue of queues) {
    // A shared download queue would give downloads to a worker with another service.
    const downloadQueue = taskQueue === localTaskQueue(env) ? taskQueue : undefined;
    const worker = await createVideoWorker({
      env,
      connection,
      taskQueue,
      downloadQueue,
      service,
      defaultService: file?.default,
      storage: { ...storage, probe: undefined },
      rateLimiters,
      gatewayUrl,
      monitor: false,
      // No version is ever made current on a local server, so no versioned worker would get a job.
      worker: { workerDeploymentOptions: undefined },
    });
    // The failure of a worker is not caught, so that it ends the process.
    const running = worker.run();
    closers.add(async () => {
      worker.shutdown();
      await running;
    });
  }
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Where services fetch images of a folder. Only one on this machine reaches the gateway of a stack: for one elsewhere, the job
 * must fail before it is sent. The emulator, which fetches none, gets links to itself.
 */
export function imagesFrom(
  services: readonly ({ baseUrl?: string | undefined } | undefined)[],
  gatewayUrl: string | undefined,
): string | undefined {
  const isHere = ({ baseUrl = '' } = {}) => URL.canParse(baseUrl) && LOOPBACK.has(new URL(baseUrl).hostname);
  return services.some(isHere) ? gatewayUrl : undefined;
}
