import { isLocalQueue, localQueuePrefix, readTaskQueue } from '../config/queues';
import type { Environment } from '../config/service-config';
import { shown } from '../contract/clean-text';
import { SERVICE_MEMO } from '../contract/names';
import type { TemporalSession } from './open-temporal';
import { printLine, type Terminal } from './terminal';

/** The memo that records where the videos of a job or batch go. */
export const STORAGE_MEMO = 'storage';

/** Where a command asked to store videos. */
export interface RequestedStorage {
  /** Address of the storage, if this command's worker stores. */
  address?: string | undefined;
  /** The requested key or prefix in it. */
  key?: string | undefined;
}

export function requestedStorage({ storage }: TemporalSession, key: string | undefined): RequestedStorage {
  return { address: storage, key };
}

/** The queue that this command's worker serves, if it has one. */
type ServedQueue = Pick<TemporalSession, 'taskQueue' | 'startWorkerFor'>;

interface JoinedCommand {
  terminal: Terminal;
  requested?: RequestedStorage | undefined;
  /** The service that the command names. */
  service?: string | undefined;
}

/**
 * An existing job keeps the storage, key and service that it was started with. This reports if the command asks for
 * others, and starts a worker for the job's storage if this process can reach it.
 */
export async function reportJoined(
  description: Awaited<ReturnType<TemporalSession['describe']>>,
  session: ServedQueue,
  { terminal, requested, service }: JoinedCommand,
): Promise<void> {
  const { workflowId, memo } = description;
  const original = readMemo(memo?.[STORAGE_MEMO]);
  const note = await noteOnQueue(description, session, { original, env: terminal.env });
  if (note !== undefined) printLine(terminal, `${shown(workflowId)} ${note}`);
  const kept = memo?.[SERVICE_MEMO];
  if (service !== undefined && typeof kept === 'string' && !service.split(',').includes(kept)) {
    printLine(
      terminal,
      `${shown(workflowId)} was started for the service ${shown(kept)}; the --service of this command has no effect.`,
    );
  }
  if (requested?.key !== undefined && memo?.[STORAGE_MEMO] !== undefined && requested.key !== original.key) {
    const key = original.key === undefined ? 'without a storage key' : `with the storage key ${original.key}`;
    printLine(
      terminal,
      `${shown(workflowId)} was started ${key}; the --storage of this command has no effect.`,
    );
  }
}

/** Undefined for a job on this command's queue, or on a remote Temporal server. */
async function noteOnQueue(
  { taskQueue, status }: Awaited<ReturnType<TemporalSession['describe']>>,
  session: ServedQueue,
  { original, env }: { original: RequestedStorage; env: Environment },
): Promise<string | undefined> {
  if (session.taskQueue === undefined || session.taskQueue === taskQueue) return undefined;
  const hasEnded = status.name !== 'RUNNING';
  // Other programs start jobs on this queue, and `dev` runs them with its own service.
  if (taskQueue === readTaskQueue(env)) return hasEnded ? undefined : ofOtherProgram(taskQueue);
  if (!isLocalQueue(taskQueue, env)) return hasEnded ? undefined : onOtherQueue(taskQueue);
  if (!taskQueue.startsWith(localQueuePrefix(env))) return OF_OTHER_SERVICE;
  return ofOtherStorage(original.address, hasEnded || (await startWorkerHere(session, original, taskQueue)));
}

function ofOtherProgram(taskQueue: string): string {
  return `was started by another program: it continues while videogen dev or another worker serves task queue ${shown(taskQueue)}.`;
}

function onOtherQueue(taskQueue: string): string {
  return `is on task queue ${shown(taskQueue)}, which this command has no worker for: it continues while a worker of that queue runs.`;
}

async function startWorkerHere(
  { startWorkerFor }: ServedQueue,
  { address }: RequestedStorage,
  queue: string,
): Promise<boolean> {
  return address !== undefined && ((await startWorkerFor?.(address, queue)) ?? false);
}

function ofOtherStorage(address: string | undefined, isServed: boolean): string {
  const storage = address === undefined ? 'another storage' : `the storage ${address}`;
  return isServed
    ? `was started with ${storage} and stores its video there; the current VIDEOGEN_STORAGE has no effect.`
    : `was started with ${storage}: set VIDEOGEN_STORAGE as it was then; otherwise it may have no worker here.`;
}

const OF_OTHER_SERVICE =
  'was started for another service: set VIDEO_API_BASE_URL, VIDEO_API_KEY and VIDEOGEN_SERVICES_FILE as they were then; otherwise it may have no worker here.';

/** Other programs may write memos too, so nothing is assumed about their shape. */
function readMemo(memo: unknown): RequestedStorage {
  const text = (name: string) => {
    const value: unknown = Reflect.get(Object(memo), name);
    return typeof value === 'string' ? value : undefined;
  };
  return { address: text('address'), key: text('key') };
}
