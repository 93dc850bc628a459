import { localQueuePrefix } from '../config/queues';
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
  workflowId: string,
  place: Place,
  { terminal, wish }: { terminal: Terminal; wish?: StorageWish },
): Promise<void> {
  const { taskQueue, memo, status } = await place.describe(workflowId);
  const asStarted = readMemo(memo?.[STORAGE_MEMO]);
  const isOver = status.name !== 'RUNNING';
  if (place.taskQueue !== undefined && place.taskQueue !== taskQueue) {
    const sentence = taskQueue.startsWith(localQueuePrefix(terminal.env))
      ? ofOtherStorage(asStarted.address, isOver || (await goesOnHere(place, asStarted, taskQueue)))
      : OF_OTHER_SERVICE;
    tell(terminal, `${shown(workflowId)} ${sentence}`);
  }
  if (wish?.key !== undefined && memo?.[STORAGE_MEMO] !== undefined && wish.key !== asStarted.key) {
    const key = asStarted.key === undefined ? 'without a key of its own' : `with the key ${asStarted.key}`;
    tell(
      terminal,
      `${shown(workflowId)} was started ${key} and keeps it; the --storage given now changes nothing.`,
    );
  }
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
