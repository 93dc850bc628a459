import { localQueuePrefix, resolveQueues } from '../config/queues';
import type { Environment } from '../config/service-config';
import { shown } from '../contract';
import type { Place } from './open-temporal';
import { type Terminal, tell } from './terminal';

/** The memo of jobs and batches that the command line starts: where their videos go. */
export const STORAGE_MEMO = 'storage';

/** Where videos are to go, as far as a command says it. */
export interface StorageWish {
  /** Address of the storage, where it is known who stores. */
  address?: string | undefined;
  /** The key or prefix in it that was asked for. */
  key?: string | undefined;
}

export function storageWish({ storage }: Place, key: string | undefined): StorageWish {
  return { address: storage, key };
}

/**
 * What has a name already stays as it was started: in its storage, under its key, with its service. Whoever asks for
 * something else now is told so; a job of another storage goes on here if that one can be reached.
 */
export async function tellOfJoined(
  there: Awaited<ReturnType<Place['describe']>>,
  place: Place,
  { terminal, wish }: { terminal: Terminal; wish?: StorageWish },
): Promise<void> {
  const { workflowId, memo } = there;
  const asStarted = readMemo(memo?.[STORAGE_MEMO]);
  const sentence = await ofOtherQueue(there, place, { asStarted, env: terminal.env });
  if (sentence !== undefined) tell(terminal, `${shown(workflowId)} ${sentence}`);
  if (wish?.key !== undefined && memo?.[STORAGE_MEMO] !== undefined && wish.key !== asStarted.key) {
    const key = asStarted.key === undefined ? 'without a key of its own' : `with the key ${asStarted.key}`;
    tell(
      terminal,
      `${shown(workflowId)} was started ${key} and keeps it; the --storage given now changes nothing.`,
    );
  }
}

/** Undefined for a job of the queue that this command works on, or of a Temporal that somebody else runs. */
async function ofOtherQueue(
  { taskQueue, status }: Awaited<ReturnType<Place['describe']>>,
  place: Place,
  { asStarted, env }: { asStarted: StorageWish; env: Environment },
): Promise<string | undefined> {
  if (place.taskQueue === undefined || place.taskQueue === taskQueue) return undefined;
  const isOver = status.name !== 'RUNNING';
  // Programs start jobs there, and `dev` works on them with whatever service it has.
  if (taskQueue === resolveQueues({}, env).taskQueue) return isOver ? undefined : ofOtherProgram(taskQueue);
  if (!taskQueue.startsWith(localQueuePrefix(env))) return OF_OTHER_SERVICE;
  return ofOtherStorage(asStarted.address, isOver || (await goesOnHere(place, asStarted, taskQueue)));
}

function ofOtherProgram(taskQueue: string): string {
  return `was started by another program: it goes on while videogen dev, or another worker, works on task queue ${shown(taskQueue)}.`;
}

async function goesOnHere({ workFor }: Place, { address }: StorageWish, queue: string): Promise<boolean> {
  return address !== undefined && ((await workFor?.(address, queue)) ?? false);
}

function ofOtherStorage(address: string | undefined, isCaredFor: boolean): string {
  const storage = address === undefined ? 'another storage' : `the storage ${address}`;
  return isCaredFor
    ? `was started with ${storage}, where its video goes whatever VIDEOGEN_STORAGE is now.`
    : `was started with ${storage}: set VIDEOGEN_STORAGE as it was then, or nobody may work on it here.`;
}

const OF_OTHER_SERVICE =
  'was started for another service: set VIDEO_API_BASE_URL and VIDEO_API_KEY as they were then, or nobody may work on it here.';

/** Others may write memos too. */
function readMemo(memo: unknown): StorageWish {
  const text = (name: string) => {
    const value: unknown = Reflect.get(Object(memo), name);
    return typeof value === 'string' ? value : undefined;
  };
  return { address: text('address'), key: text('key') };
}
